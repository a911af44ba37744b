use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use futures_util::future::join_all;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use tokio::time::{advance, sleep, timeout};

use super::*;

/// A token endpoint in virtual time: how often it was asked, and how many requests were under way at most.
#[derive(Default)]
struct Endpoint {
    asked: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

/// What it does with a request.
#[derive(Clone, Copy)]
struct Doing {
    takes_ms: u64,
    /// `None`: it refuses.
    life_ms: Option<u64>,
}

const QUICK: Doing = Doing { takes_ms: 20, life_ms: Some(1_000) };

struct Running(Arc<Endpoint>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Endpoint {
    fn ask(self: &Arc<Self>, doing: Doing) -> impl Future<Output = Result<Granted, CallFailure>> + Send + 'static {
        let number = self.asked.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(self.running.fetch_add(1, SeqCst) + 1, SeqCst);
        let running = Running(self.clone());
        async move {
            let _running = running;
            sleep(Duration::from_millis(doing.takes_ms)).await;
            let life = doing.life_ms.ok_or_else(|| CallFailure::not_sent("oauth", "refused"))?;
            Ok(Granted { text: SecretText::new(format!("token-{number}")), use_for: Duration::from_millis(life) })
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(SeqCst)
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

struct World {
    tokens: Tokens,
    endpoint: Arc<Endpoint>,
}

impl World {
    fn new() -> World {
        World { tokens: Tokens::default(), endpoint: Arc::default() }
    }

    async fn get(&self, refused: Option<&Arc<Token>>, doing: Doing) -> Result<Arc<Token>, CallFailure> {
        self.tokens.get(&name(), refused, || self.endpoint.ask(doing)).await
    }
}

#[tokio::test(start_paused = true)]
async fn one_request_serves_all_who_wait() {
    let world = World::new();
    let found = join_all((0..100).map(|_| world.get(None, QUICK))).await;
    assert!(found.iter().all(|token| token.as_ref().unwrap().text.expose() == "token-1"));
    assert_eq!(world.endpoint.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_used_until_its_end_and_not_longer() {
    let world = World::new();
    world.get(None, QUICK).await.unwrap();
    advance(Duration::from_millis(999)).await;
    world.get(None, QUICK).await.unwrap();
    assert_eq!(world.endpoint.asked(), 1);
    advance(Duration::from_millis(1)).await;
    assert_eq!(world.get(None, QUICK).await.unwrap().text.expose(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_replaced_once_for_all_who_used_it() {
    let world = World::new();
    let refused = world.get(None, QUICK).await.unwrap();
    let found = join_all((0..50).map(|_| world.get(Some(&refused), QUICK))).await;
    assert!(found.iter().all(|token| token.as_ref().unwrap().text.expose() == "token-2"));
    // One who used it comes late: the newer one is there already.
    assert_eq!(world.get(Some(&refused), QUICK).await.unwrap().text.expose(), "token-2");
    assert_eq!(world.get(None, QUICK).await.unwrap().text.expose(), "token-2");
    assert_eq!(world.endpoint.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_for_all_who_waited_and_for_nobody_after_them() {
    let world = World::new();
    let refusing = Doing { life_ms: None, ..QUICK };
    let found = join_all((0..10).map(|_| world.get(None, refusing))).await;
    assert!(found.iter().all(|token| token.as_ref().unwrap_err().class == "oauth"));
    assert_eq!(world.endpoint.asked(), 1);
    assert_eq!(world.get(None, QUICK).await.unwrap().text.expose(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn a_request_outlives_the_caller_that_began_it() {
    let world = World::new();
    let impatient = timeout(Duration::from_millis(5), world.get(None, QUICK));
    let (gone, token) = tokio::join!(impatient, world.get(None, QUICK));
    assert!(gone.is_err());
    assert_eq!((token.unwrap().text.expose(), world.endpoint.asked()), ("token-1", 1));
}

#[tokio::test(start_paused = true)]
async fn a_request_ends_with_the_last_who_waits_for_it() {
    let world = World::new();
    assert!(timeout(Duration::from_millis(5), world.get(None, QUICK)).await.is_err());
    assert_eq!(world.endpoint.running.load(SeqCst), 0);
    assert_eq!(world.get(None, QUICK).await.unwrap().text.expose(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn another_tenant_destination_or_secret_has_a_token_of_its_own() {
    let world = World::new();
    let names = [
        name(),
        name_of("acme/live", "bank", "s"),
        name_of("acme/test", "other", "s"),
        name_of("acme/test", "bank", "new secret"),
    ];
    for name in &names {
        world.tokens.get(name, None, || world.endpoint.ask(QUICK)).await.unwrap();
    }
    assert_eq!(world.endpoint.asked(), names.len());
    assert!(!format!("{:?}", world.get(None, QUICK).await.unwrap()).contains("token-"));
}

#[tokio::test(start_paused = true)]
async fn memory_holds_so_many_tokens_and_no_more_and_the_oldest_few_make_room() {
    let world = World::new();
    let lasting = Doing { takes_ms: 1, life_ms: Some(1_000_000) };
    let get = async |number: usize| {
        let name = name_of("acme/test", &number.to_string(), "s");
        world.tokens.get(&name, None, || world.endpoint.ask(lasting)).await.unwrap();
        assert!(world.tokens.len() <= TOKENS_KEPT_MAX);
    };
    for number in 0..=TOKENS_KEPT_MAX {
        get(number).await;
    }
    for number in TOKENS_DROPPED..=TOKENS_KEPT_MAX {
        get(number).await;
    }
    assert_eq!(world.endpoint.asked(), TOKENS_KEPT_MAX + 1);
    get(0).await;
    assert_eq!(world.endpoint.asked(), TOKENS_KEPT_MAX + 2);
}

/// One caller of the simulation: comes, perhaps gives up, perhaps is refused the token and comes again.
async fn visit(world: &World, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |limit: u64| random.next_u64() % limit;
    sleep(Duration::from_millis(below(2_000))).await;
    let mut refused: Option<Arc<Token>> = None;
    for _ in 0..3 {
        let doing = Doing { takes_ms: below(60), life_ms: (below(4) > 0).then(|| below(500)) };
        let patience = Duration::from_millis(below(120));
        let Ok(found) = timeout(patience, world.get(refused.as_ref(), doing)).await else { continue };
        assert!(world.endpoint.running.load(SeqCst) <= 1);
        let Ok(token) = found else { continue };
        let same = refused.as_ref().is_some_and(|refused| Arc::ptr_eq(refused, &token));
        assert!(!same, "seed {seed}: a refused token came back");
        refused = (below(2) == 0).then_some(token);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_goes_or_is_refused_there_is_one_request_at_a_time() {
    for round in 0..50 {
        let world = World::new();
        join_all((0..100).map(|caller| visit(&world, round * 1_000 + caller))).await;
        let endpoint = &world.endpoint;
        assert_eq!(endpoint.most.load(SeqCst), 1, "round {round}");
        assert_eq!(endpoint.running.load(SeqCst), 0, "round {round}");
        assert!(endpoint.asked() > 1, "round {round}");
    }
}
