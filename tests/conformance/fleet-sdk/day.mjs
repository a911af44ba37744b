// A working day with a released client of the fleet interface, written as its users write. Each step is checked with the client's own
// getters. Exits with an error if a check fails.
//
//     node day.mjs 1|2 HOST KEY

import assert from "node:assert/strict";

const [version, host, key] = process.argv.slice(2);
const client = await import(`fleet-sdk-${version}`);

// The default adapter of version 2 on Node sends every GET with path and method exchanged. The browser adapter does not.
const options = version === "2"
  ? { adapter: new client.BrowserAdapter({ host, namespace: "v1", publicKey: key }) }
  : { host };
const fleet = new client.default(key, options);

let done = 0;

// Adds the name of the step to its error.
async function step(name, work) {
  try {
    const value = await work();
    done += 1;
    return value;
  } catch (error) {
    throw new Error(`${name} (after ${done} steps): ${error.message}`, { cause: error });
  }
}

// Checks the status and the getters of an order.
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

// Version 1 exposes only the message.
async function rejected(request, status, code, sentence) {
  const error = await request.then(() => assert.fail("was not rejected"), (error) => error);
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

await step("get the organization of the key", async () => {
  const organization = await fleet.organizations.current();
  assert.match(organization.id, /^company_/);
  assert.ok(organization.name);
});

const ada = { name: "Ada", email: "ada@example.com", phone: "+6591234567", password: "correct horse battery" };
const driver = await step("create a driver", async () => {
  const driver = await fleet.drivers.create(ada);
  assert.ok(driver instanceof client.Driver && driver.isSaved);
  assert.match(driver.id, /^driver_/);
  assert.deepEqual([driver.getAttribute("name"), driver.isOnline, driver.token], ["Ada", false, null]);
  return driver;
});

await step("log in", async () => {
  const session = await fleet.drivers.login(ada.email, ada.password);
  assert.equal(session.id, driver.id);
  assert.ok(session.token.length > 20);
});

await step("log in with a wrong password", () =>
  rejected(fleet.drivers.login(ada.email, "wrong horse battery"), 401, "LOGIN_FAILED", "Authentication failed using password provided."));

const created = await step("create an order", async () => {
  const order = check(await fleet.orders.create({ ...STOPS, driver: driver.id, internal_id: "A1", meta: { boxes: 2 } }), NEW);
  assert.match(order.id, /^order_/);
  assert.deepEqual([order.scheduledAt, order.meta.boxes, order.isSaved], [null, 2, true]);
  return order;
});

await step("find the order", async () => {
  const found = check(await fleet.orders.findRecord(created.id), NEW);
  assert.deepEqual(found.attributes, created.attributes);
});

await step("list orders", async () => {
  const list = await fleet.orders.query({ status: "created", limit: 5, sort: "-created_at" });
  assert.deepEqual([...list].map((order) => check(order, NEW).id), [created.id]);
  assert.equal((await fleet.orders.findAll()).length, 1);
  const one = await fleet.orders.queryRecord({ internal_id: "A1" });
  assert.equal((Array.isArray(one) ? one[0] : one).id, created.id);
  assert.equal((await fleet.orders.query({ status: "completed" })).length, 0);
});

await step("update the order", async () => {
  const changed = check(await fleet.orders.update(created.id, { notes: "Ring twice" }), NEW);
  assert.equal(changed.getAttribute("notes"), "Ring twice");
});

await step("get distance and time", async () => {
  const { distance, time } = await created.getDistanceAndTime();
  assert.ok(distance >= 0 && time >= 0);
});

await step("dispatch the order", async () => check(await created.dispatch(), DISPATCHED));
await step("dispatch the order again", () =>
  rejected(created.dispatch(), 400, "ORDER_ALREADY_DISPATCHED", "Order has already been dispatched!"));
await step("start the order", async () => check(await created.start(), STARTED));

const next = await step("get the next activity", async () => {
  const [activity, ...others] = await created.getNextActivity();
  assert.deepEqual([activity.code, others], ["enroute", []]);
  return activity;
});

await step("update the activity", async () => check(await created.updateActivity({ activity: next }), ENROUTE));

await step("report a position", async () => {
  const position = { latitude: 1.2966, longitude: 103.8522, heading: 90, speed: 12, altitude: 3 };
  const moved = await driver.track(position);
  assert.deepEqual([moved.latitude, moved.longitude, moved.getAttribute("heading")], [1.2966, 103.8522, 90]);
  assert.deepEqual([...moved.coordinates].sort(), [1.2966, 103.8522].sort());
});

await step("capture a signature", async () => {
  const proof = await created.captureSignature(null, { signature: SIGNATURE, remarks: "At the door" });
  assert.match(proof.id, /^proof_/);
  assert.equal(proof.remarks, "At the door");
});

await step("complete the order", async () => {
  check(await created.complete(), COMPLETED);
  assert.deepEqual(await created.getNextActivity(), []);
  check(await fleet.orders.findRecord(created.id), COMPLETED);
});

await step("schedule and cancel another order", async () => {
  const later = new Date(Date.now() + 86_400_000);
  later.setMilliseconds(0);
  const planned = check(await fleet.orders.create({ ...STOPS, scheduled_at: later.toISOString() }), NEW);
  assert.deepEqual(planned.scheduledAt, later);
  check(await planned.cancel(), CANCELED);
});

await step("delete a third order", async () => {
  const order = await fleet.orders.create(STOPS);
  const removed = await fleet.orders.destroy(order.id);
  assert.equal(removed.id, order.id);
  await rejected(fleet.orders.findRecord(order.id), 404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
});

console.log("the day is complete");
