use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use futures_util::future::join_all;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use tokio::time::{advance, sleep, timeout};

use super::*;

/// A token endpoint in virtual time. Counts its requests and the maximum number in flight.
#[derive(Default)]
struct Endpoint {
    requests: AtomicUsize,
    running: AtomicUsize,
    running_max: AtomicUsize,
}

/// How the endpoint handles a request.
#[derive(Clone, Copy)]
struct Behaviour {
    duration_ms: u64,
    /// `None` if the endpoint returns an error.
    lifetime_ms: Option<u64>,
}

const QUICK: Behaviour = Behaviour { duration_ms: 20, lifetime_ms: Some(1_000) };

struct Running(Arc<Endpoint>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Endpoint {
    fn fetch(
        self: &Arc<Self>,
        behaviour: Behaviour,
    ) -> impl Future<Output = Result<Granted, DestinationCallError>> + Send + 'static {
        let number = self.requests.fetch_add(1, SeqCst) + 1;
        self.running_max.fetch_max(self.running.fetch_add(1, SeqCst) + 1, SeqCst);
        let running = Running(self.clone());
        async move {
            let _running = running;
            sleep(Duration::from_millis(behaviour.duration_ms)).await;
            let lifetime = behaviour.lifetime_ms.ok_or_else(|| DestinationCallError::not_sent("oauth", "rejected"))?;
            Ok(Granted { text: SecretText::new(format!("token-{number}")), use_for: Duration::from_millis(lifetime) })
        }
    }

    fn requests(&self) -> usize {
        self.requests.load(SeqCst)
    }
}

fn client(secret: &str) -> OAuthClient {
    OAuthClient {
        token_url: "https://id.example/token".into(),
        client_id: "me".into(),
        client_secret: SecretText::new(secret.into()),
        scope: None,
        audience: None,
        authentication: ClientAuthentication::Basic,
    }
}

fn name_of(tenant: &str, destination: &str, secret: &str) -> TokenName {
    TokenName::new((&"notes".into(), Some(&tenant.into())), destination, &client(secret))
}

fn name() -> TokenName {
    name_of("acme/test", "bank", "s")
}

struct Fixture {
    tokens: Tokens,
    endpoint: Arc<Endpoint>,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { tokens: Tokens::default(), endpoint: Arc::default() }
    }

    async fn get(
        &self,
        rejected: Option<&Arc<Token>>,
        behaviour: Behaviour,
    ) -> Result<Arc<Token>, DestinationCallError> {
        self.tokens.get(&name(), rejected, || self.endpoint.fetch(behaviour)).await
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_callers_share_one_request() {
    let fixture = Fixture::new();
    let found = join_all((0..100).map(|_| fixture.get(None, QUICK))).await;
    assert!(found.iter().all(|token| token.as_ref().unwrap().text.expose() == "token-1"));
    assert_eq!(fixture.endpoint.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn token_is_used_until_it_expires() {
    let fixture = Fixture::new();
    fixture.get(None, QUICK).await.unwrap();
    advance(Duration::from_millis(999)).await;
    fixture.get(None, QUICK).await.unwrap();
    assert_eq!(fixture.endpoint.requests(), 1);
    advance(Duration::from_millis(1)).await;
    assert_eq!(fixture.get(None, QUICK).await.unwrap().text.expose(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn rejected_token_is_replaced_once_for_all_callers() {
    let fixture = Fixture::new();
    let rejected = fixture.get(None, QUICK).await.unwrap();
    let found = join_all((0..50).map(|_| fixture.get(Some(&rejected), QUICK))).await;
    assert!(found.iter().all(|token| token.as_ref().unwrap().text.expose() == "token-2"));
    // A late caller with the rejected token gets the newer one.
    assert_eq!(fixture.get(Some(&rejected), QUICK).await.unwrap().text.expose(), "token-2");
    assert_eq!(fixture.get(None, QUICK).await.unwrap().text.expose(), "token-2");
    assert_eq!(fixture.endpoint.requests(), 2);
}

#[tokio::test(start_paused = true)]
async fn error_is_returned_to_waiting_callers_and_not_cached() {
    let fixture = Fixture::new();
    let failing = Behaviour { lifetime_ms: None, ..QUICK };
    let found = join_all((0..10).map(|_| fixture.get(None, failing))).await;
    assert!(found.iter().all(|token| token.as_ref().unwrap_err().class == "oauth"));
    assert_eq!(fixture.endpoint.requests(), 1);
    assert_eq!(fixture.get(None, QUICK).await.unwrap().text.expose(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn request_outlives_the_caller_that_started_it() {
    let fixture = Fixture::new();
    let impatient = timeout(Duration::from_millis(5), fixture.get(None, QUICK));
    let (gone, token) = tokio::join!(impatient, fixture.get(None, QUICK));
    assert!(gone.is_err());
    assert_eq!((token.unwrap().text.expose(), fixture.endpoint.requests()), ("token-1", 1));
}

#[tokio::test(start_paused = true)]
async fn request_is_cancelled_with_its_last_caller() {
    let fixture = Fixture::new();
    assert!(timeout(Duration::from_millis(5), fixture.get(None, QUICK)).await.is_err());
    assert_eq!(fixture.endpoint.running.load(SeqCst), 0);
    assert_eq!(fixture.get(None, QUICK).await.unwrap().text.expose(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn tenants_destinations_and_secrets_have_separate_tokens() {
    let fixture = Fixture::new();
    let names = [
        name(),
        name_of("acme/live", "bank", "s"),
        name_of("acme/test", "other", "s"),
        name_of("acme/test", "bank", "new secret"),
    ];
    for name in &names {
        fixture.tokens.get(name, None, || fixture.endpoint.fetch(QUICK)).await.unwrap();
    }
    assert_eq!(fixture.endpoint.requests(), names.len());
    assert!(!format!("{:?}", fixture.get(None, QUICK).await.unwrap()).contains("token-"));
}

#[tokio::test(start_paused = true)]
async fn cache_is_bounded_and_evicts_the_oldest_tokens() {
    let fixture = Fixture::new();
    let lasting = Behaviour { duration_ms: 1, lifetime_ms: Some(1_000_000) };
    let get = async |number: usize| {
        let name = name_of("acme/test", &number.to_string(), "s");
        fixture.tokens.get(&name, None, || fixture.endpoint.fetch(lasting)).await.unwrap();
        assert!(fixture.tokens.len() <= TOKENS_KEPT_MAX);
    };
    for number in 0..=TOKENS_KEPT_MAX {
        get(number).await;
    }
    for number in TOKENS_DROPPED..=TOKENS_KEPT_MAX {
        get(number).await;
    }
    assert_eq!(fixture.endpoint.requests(), TOKENS_KEPT_MAX + 1);
    get(0).await;
    assert_eq!(fixture.endpoint.requests(), TOKENS_KEPT_MAX + 2);
}

/// Simulates one caller, which may time out, or have its token rejected and request another token.
async fn simulate_caller(fixture: &Fixture, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |limit: u64| random.next_u64() % limit;
    sleep(Duration::from_millis(below(2_000))).await;
    let mut rejected: Option<Arc<Token>> = None;
    for _ in 0..3 {
        let behaviour = Behaviour { duration_ms: below(60), lifetime_ms: (below(4) > 0).then(|| below(500)) };
        let patience = Duration::from_millis(below(120));
        let Ok(found) = timeout(patience, fixture.get(rejected.as_ref(), behaviour)).await else { continue };
        assert!(fixture.endpoint.running.load(SeqCst) <= 1);
        let Ok(token) = found else { continue };
        let same = rejected.as_ref().is_some_and(|rejected| Arc::ptr_eq(rejected, &token));
        assert!(!same, "seed {seed}: a rejected token was returned again");
        rejected = (below(2) == 0).then_some(token);
    }
}

#[tokio::test(start_paused = true)]
async fn random_callers_share_at_most_one_request_at_a_time() {
    for round in 0..50 {
        let fixture = Fixture::new();
        join_all((0..100).map(|caller| simulate_caller(&fixture, round * 1_000 + caller))).await;
        let endpoint = &fixture.endpoint;
        assert_eq!(endpoint.running_max.load(SeqCst), 1, "round {round}");
        assert_eq!(endpoint.running.load(SeqCst), 0, "round {round}");
        assert!(endpoint.requests() > 1, "round {round}");
    }
}
