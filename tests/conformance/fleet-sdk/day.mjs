// A working day through a released client of the fleet interface, written as its users write. After each step the client's own getters
// are asked. Ends with an error where something is not as it should be.
//
//     node day.mjs 1|2 HOST KEY

import assert from "node:assert/strict";

const [version, host, key] = process.argv.slice(2);
const client = await import(`fleet-sdk-${version}`);

// The adapter that version 2 takes on Node sends every GET with path and method exchanged; its other one does not.
const options = version === "2"
  ? { adapter: new client.BrowserAdapter({ host, namespace: "v1", publicKey: key }) }
  : { host };
const fleet = new client.default(key, options);

let done = 0;

// Says where it stopped.
async function step(name, work) {
  try {
    const value = await work();
    done += 1;
    return value;
  } catch (error) {
    throw new Error(`${name} (after ${done} steps): ${error.message}`, { cause: error });
  }
}

// What an order says of itself.
function check(order, expected) {
  assert.ok(order instanceof client.Order, "not an order");
  const { isDispatched, isNotDispatched, isStarted, isNotStarted, isCompleted, isCanceled, isEnroute, isInProgress } = order;
  assert.deepEqual(
    { status: order.status, isDispatched, isStarted, isCompleted, isCanceled, isEnroute, isInProgress },
    { isDispatched: false, isStarted: false, isCompleted: false, isCanceled: false, isEnroute: false, isInProgress: false, ...expected },
  );
  assert.deepEqual([isNotDispatched, isNotStarted], [!isDispatched, !isStarted]);
  assert.equal(order.dispatchedAt instanceof Date, isDispatched);
  assert.equal(order.startedAt instanceof Date, isStarted);
  assert.ok(order.createdAt instanceof Date && !Number.isNaN(order.createdAt.getTime()));
  return order;
}

const NEW = { status: "created" };
const DISPATCHED = { status: "dispatched", isDispatched: true };
const STARTED = { status: "started", isDispatched: true, isStarted: true, isInProgress: true };
const ENROUTE = { ...STARTED, status: "enroute", isEnroute: true };
const COMPLETED = { ...STARTED, status: "completed", isCompleted: true, isInProgress: false };
const CANCELED = { status: "canceled", isCanceled: true };

// Version 1 shows the sentence alone.
async function refused(asked, status, code, sentence) {
  const error = await asked.then(() => assert.fail("was not refused"), (error) => error);
  assert.equal(error.message, sentence);
  if (version === "2") {
    assert.deepEqual([error.status, error.code], [status, code]);
    assert.match(error.requestId, /^req_/);
  }
}

const STOPS = { pickup: "1 Harbour Road, Singapore", dropoff: "9 Station Street, Singapore" };
// One transparent point.
const SIGNATURE = "data:image/png;base64,"
  + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

await step("the organization of the key", async () => {
  const organization = await fleet.organizations.current();
  assert.match(organization.id, /^company_/);
  assert.ok(organization.name);
});

const ada = { name: "Ada", email: "ada@example.com", phone: "+6591234567", password: "correct horse battery" };
const driver = await step("a driver is made", async () => {
  const driver = await fleet.drivers.create(ada);
  assert.ok(driver instanceof client.Driver && driver.isSaved);
  assert.match(driver.id, /^driver_/);
  assert.deepEqual([driver.getAttribute("name"), driver.isOnline, driver.token], ["Ada", false, null]);
  return driver;
});

await step("the driver logs in", async () => {
  const session = await fleet.drivers.login(ada.email, ada.password);
  assert.equal(session.id, driver.id);
  assert.ok(session.token.length > 20);
});

await step("a wrong password", () =>
  refused(fleet.drivers.login(ada.email, "wrong horse battery"), 401, "LOGIN_FAILED", "Authentication failed using password provided."));

const made = await step("an order is made", async () => {
  const order = check(await fleet.orders.create({ ...STOPS, driver: driver.id, internal_id: "A1", meta: { boxes: 2 } }), NEW);
  assert.match(order.id, /^order_/);
  assert.deepEqual([order.scheduledAt, order.meta.boxes, order.isSaved], [null, 2, true]);
  return order;
});

await step("it is found", async () => {
  const found = check(await fleet.orders.findRecord(made.id), NEW);
  assert.deepEqual(found.attributes, made.attributes);
});

await step("it is asked for", async () => {
  const list = await fleet.orders.query({ status: "created", limit: 5, sort: "-created_at" });
  assert.deepEqual([...list].map((order) => check(order, NEW).id), [made.id]);
  assert.equal((await fleet.orders.findAll()).length, 1);
  const one = await fleet.orders.queryRecord({ internal_id: "A1" });
  assert.equal((Array.isArray(one) ? one[0] : one).id, made.id);
  assert.equal((await fleet.orders.query({ status: "completed" })).length, 0);
});

await step("it is changed", async () => {
  const changed = check(await fleet.orders.update(made.id, { notes: "Ring twice" }), NEW);
  assert.equal(changed.getAttribute("notes"), "Ring twice");
});

await step("how far and how long", async () => {
  const { distance, time } = await made.getDistanceAndTime();
  assert.ok(distance >= 0 && time >= 0);
});

await step("it is dispatched", async () => check(await made.dispatch(), DISPATCHED));
await step("it is dispatched again", () =>
  refused(made.dispatch(), 400, "ORDER_ALREADY_DISPATCHED", "Order has already been dispatched!"));
await step("it is started", async () => check(await made.start(), STARTED));

const next = await step("what comes next", async () => {
  const [activity, ...others] = await made.getNextActivity();
  assert.deepEqual([activity.code, others], ["enroute", []]);
  return activity;
});

await step("the driver is on the way", async () => check(await made.updateActivity({ activity: next }), ENROUTE));

await step("the driver moves", async () => {
  const fix = { latitude: 1.2966, longitude: 103.8522, heading: 90, speed: 12, altitude: 3 };
  const moved = await driver.track(fix);
  assert.deepEqual([moved.latitude, moved.longitude, moved.getAttribute("heading")], [1.2966, 103.8522, 90]);
  assert.deepEqual([...moved.coordinates].sort(), [1.2966, 103.8522].sort());
});

await step("a signature", async () => {
  const proof = await made.captureSignature(null, { signature: SIGNATURE, remarks: "At the door" });
  assert.match(proof.id, /^proof_/);
  assert.equal(proof.remarks, "At the door");
});

await step("it is completed", async () => {
  check(await made.complete(), COMPLETED);
  assert.deepEqual(await made.getNextActivity(), []);
  check(await fleet.orders.findRecord(made.id), COMPLETED);
});

await step("another one is planned and canceled", async () => {
  const later = new Date(Date.now() + 86_400_000);
  later.setMilliseconds(0);
  const planned = check(await fleet.orders.create({ ...STOPS, scheduled_at: later.toISOString() }), NEW);
  assert.deepEqual(planned.scheduledAt, later);
  check(await planned.cancel(), CANCELED);
});

await step("a third one is removed", async () => {
  const order = await fleet.orders.create(STOPS);
  const removed = await fleet.orders.destroy(order.id);
  assert.equal(removed.id, order.id);
  await refused(fleet.orders.findRecord(order.id), 404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
});

console.log("a day is over");
