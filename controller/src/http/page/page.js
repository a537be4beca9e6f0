// The page of the controller: follows the event stream and shows each snapshot. It only reads, and
// it shows foreign text as text alone: nothing here makes markup of what the network says.
"use strict";

const TOKEN = "heddle-token";
/** At least so long between two drawings, in milliseconds. */
const PACE = 500;
/** A stream that is silent for so long is late: there is a snapshot each second. */
const LATE = 5000;
const RETRY = 2000;
/** So long after a drawing that failed comes the next one. */
const REDRAW = 10000;
const ROWS = { links: 12, epochs: 20, events: 40, jobs: 50, alarms: 50 };
/** The ways of a job that are named: those in which it spends most time. */
const WAYS = 2;
/** Use from which a link is busy. */
const BUSY = 0.8;
/** A way that has so much more of its rate in use than all ways together is uneven. */
const UNEVEN = 0.2;
/** Use below which a link carries nothing but the chatter of its ends. */
const IDLE = 0.005;

/** Characters that are not seen but have an effect, such as changing the direction of writing. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** A foreign text as it is shown, as in every picture. */
const visible = (text) => String(text).replace(HIDDEN, "\ufffd");
const $ = (selector) => document.querySelector(selector);
let latest = null;
/** The newest snapshot that was read, and the network that its viewer chose. */
let newest = null;
let chosen = null;
let arrived = 0;
let drawnAt = 0;
let planned = false;
/** The links and loads that the page shows. */
let shown = { links: [], loads: [] };
/** The network whose drawing is there or on its way, and the number of that drawing. */
let drawnNetwork = null;
let drawing = 0;
let redrawAt = 0;
let cables = new Map();

/** The headers of every request. */
function headers() {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { Authorization: "Bearer " + token } : {};
}

function tell(word, className) {
  const state = $("#state");
  state.textContent = word;
  state.className = className;
}

/** Asks for a token, with the reason why. */
function ask(why) {
  sessionStorage.removeItem(TOKEN);
  $("main").hidden = true;
  $("#waiting").hidden = true;
  $("#login").hidden = false;
  $("#login button").disabled = false;
  $("#why").textContent = why;
  tell("needs a token", "lost");
  $("#token").focus();
}

const wait = (time) => new Promise((done) => setTimeout(done, time));

/** Follows the stream until it needs a token. */
async function follow() {
  // One stream at a time.
  $("#login button").disabled = true;
  for (;;) {
    try {
      const answer = await fetch("/v1/events", { headers: headers(), cache: "no-store" });
      if (answer.status === 401 || answer.status === 403) {
        const had = sessionStorage.getItem(TOKEN) !== null;
        const refused = had ? "this is not the viewers' token" : "";
        return ask(answer.status === 403 ? (await answer.text()).trim() : refused);
      }
      if (!answer.ok) throw new Error((await answer.text()).trim());
      $("#login").hidden = true;
      $("#waiting").hidden = !$("main").hidden;
      await read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
      tell("the controller ended the stream; trying again", "lost");
    } catch (problem) {
      tell(`no answer (${problem.message}); trying again`, "lost");
    }
    await wait(RETRY);
  }
}

/** Takes the events of a stream apart (HTML Living Standard, 9.2.6). */
async function read(reader) {
  let parts = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    // A snapshot may come in many parts: only the last two can hold the end.
    const tail = (parts.length ? parts[parts.length - 1].slice(-1) : "") + value;
    parts.push(value);
    if (!tail.includes("\n\n")) continue;
    const events = parts.join("").split("\n\n");
    parts = [events.pop()];
    for (const event of events) take(event);
  }
}

function take(event) {
  arrived = performance.now();
  const lines = event.split("\n").filter((line) => line.startsWith("data: "));
  if (!lines.length) return;
  latest = lines.map((line) => line.slice(6)).join("\n");
  plan();
}

/** Draws soon, but not too often, and not while nobody looks. */
function plan() {
  if (planned || document.hidden) return;
  planned = true;
  setTimeout(() => requestAnimationFrame(draw), Math.max(0, drawnAt + PACE - performance.now()));
}

function draw() {
  planned = false;
  if (latest !== null) newest = JSON.parse(latest);
  if (newest === null) return;
  const snapshot = newest;
  latest = null;
  $("main").hidden = false;
  $("#waiting").hidden = true;
  tell("live", "live");
  const epoch = snapshot.epochs[snapshot.epochs.length - 1];
  $("#about").textContent = [
    epoch ? `epoch ${epoch.number}, ${epoch.hosts} hosts, ${epoch.phases} phases` : "no epoch published yet",
    count(snapshot.switches.length, "switch", "switches"),
    snapshot.directory,
  ].join(" · ");
  $("footer").textContent = `heddle ${snapshot.version}, as of ${clock(snapshot.at)}`;
  showPending(snapshot.pending);
  showAlarms(snapshot.alarms);
  showJobs(snapshot);
  const all = networks(snapshot);
  const network = all.find(({ name }) => name === chosen) || all[0];
  showChoice(all, network);
  const links = network.topology.links;
  shown = { links, loads: network.loads };
  showLinks(links, network.loads);
  showEpochs(snapshot.epochs);
  showEvents(snapshot.events);
  // A drawing takes its time: it gets what is shown when it is there.
  showNetwork(network).then(() => showLoads(shown));
  drawnAt = performance.now();
}

/* Tables. */

const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;
const clock = (at) => new Date(at).toLocaleTimeString();
const scaled = (value, unit) => {
  const prefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const [size, prefix] = prefixes.find(([size]) => value >= size) || [1, ""];
  return `${(value / size).toFixed(value % size && value < 100 * size ? 1 : 0)} ${prefix}${unit}`;
};

function cell(content, className = "") {
  const cell = document.createElement("td");
  cell.className = className;
  cell.append(content instanceof Node ? content : visible(content));
  return cell;
}

/** A number as a share, with its bar. */
function share(value) {
  if (value === null || value === undefined) return cell("–", "share");
  const [both, percent, bar, filled] = Array.from({ length: 4 }, () => document.createElement("span"));
  percent.className = "percent";
  percent.textContent = `${Math.round(value * 100)} %`;
  bar.className = value >= BUSY ? "track busy" : "track";
  filled.style.width = `${Math.min(value, 1) * 100}%`;
  bar.append(filled);
  both.append(percent, bar);
  return cell(both, "share");
}

function row(cells, className = "") {
  const row = document.createElement("tr");
  row.className = className;
  row.append(...cells);
  return row;
}

function fill(section, rows) {
  $(`#${section} tbody`).replaceChildren(...rows);
  $(`#${section}`).hidden = rows.length === 0;
}

function showPending(pending) {
  const notice = $("#pending");
  notice.hidden = !pending;
  if (pending) notice.textContent = visible(`seen, but not believed yet: ${pending.changes.join("; ")}`);
}

function showAlarms(alarms) {
  const items = alarms.slice(0, ROWS.alarms).map((alarm) => {
    const item = document.createElement("li");
    item.textContent = visible(alarm.text);
    item.className = alarm.severity;
    item.title = alarm.code;
    return item;
  });
  $("#alarms ul").replaceChildren(...items);
  $("#alarms .count").textContent = alarms.length > items.length ? `${items.length} of ${alarms.length}` : `${alarms.length}`;
  $("#alarms").hidden = alarms.length === 0;
}

function showJobs({ jobs, jobs_more }) {
  const rows = jobs.slice(0, ROWS.jobs).map(({ record, running, history }) => {
    const point = history[history.length - 1];
    const calls = [...record.calls].sort((one, other) => other.seconds - one.seconds);
    const ways = [...new Set(calls.map((call) => `${call.collective} ${call.way}`))];
    const more = ways.length > WAYS ? ` and ${ways.length - WAYS} more` : "";
    const cells = [
      cell(record.id),
      cell(record.program),
      cell(record.user),
      cell(record.ranks, "number"),
      cell(record.epoch || "–", "number"),
      cell(record.aside || ways.slice(0, WAYS).join(", ") + more),
      cell(running && point ? scaled(point.bytes_per_sec, "B/s") : "ended", "number"),
      share(running && point ? point.share : null),
    ];
    return row(cells, running ? "" : "over");
  });
  fill("jobs", rows);
  $("#jobs .count").textContent = jobs_more ? `and ${jobs_more} more` : "";
}

const use = (measured, rate) => (measured === null || measured === undefined ? null : measured / rate);

function showLinks(links, loads) {
  const busiest = loads
    .map((load, i) => ({ load, link: links[i] }))
    .filter(({ link }) => link && link.state !== "blocked")
    .map((one) => ({ ...one, most: Math.max(one.load.a_to_b || 0, one.load.b_to_a || 0) / one.link.rate_bps }))
    .filter(({ load, most }) => load.bottleneck || most >= IDLE)
    .sort((one, other) => other.most - one.most || other.load.phases - one.load.phases)
    .slice(0, ROWS.links);
  fill("links", busiest.map(({ load, link }) => {
    const cells = [
      cell(`${link.a} ${link.a_port} – ${link.b} ${link.b_port}`),
      cell(scaled(link.rate_bps, "bit/s"), "number"),
      cell(load.phases, "number"),
      share(use(load.a_to_b, link.rate_bps)),
      share(use(load.b_to_a, link.rate_bps)),
    ];
    return row(cells, load.bottleneck ? "bottleneck" : "");
  }));
}

function showEpochs(epochs) {
  fill("epochs", epochs.slice(-ROWS.epochs).reverse().map((epoch) => row([
    cell(epoch.number, "number"),
    cell(new Date(epoch.at).toLocaleString()),
    cell(epoch.hosts, "number"),
    cell((epoch.bound_only ? "at least " : "") + epoch.phases, "number"),
    cell(epoch.bottleneck.join(" → ")),
    cell(epoch.changes.join("; ")),
  ])));
}

function showEvents(events) {
  fill("events", events.slice(-ROWS.events).reverse().map((event) => row([
    cell(clock(event.at)),
    cell(event.level, event.level),
    cell(event.text),
  ])));
}

/* The network: the controller draws it, this page colours it. */

/** All networks with their names; the only one has none. */
function networks(snapshot) {
  return [snapshot, ...(snapshot.further || [])].map(({ topology, loads }) => ({ name: topology.network ?? null, topology, loads }));
}

/** A button for each of several networks. */
function showChoice(all, { name }) {
  const choice = $("#choice");
  choice.hidden = all.length < 2;
  if (choice.hidden) return choice.replaceChildren();
  const isThere = all.length === choice.children.length && all.every((one, i) => choice.children[i].value === one.name);
  if (!isThere) choice.replaceChildren(...all.map((one) => {
    const button = document.createElement("button");
    button.value = one.name;
    button.textContent = visible(one.name);
    button.addEventListener("click", () => choose(one.name));
    return button;
  }));
  for (const button of choice.children) button.setAttribute("aria-pressed", button.value === name);
}

function choose(name) {
  chosen = name;
  draw();
}

const key = (...ends) => JSON.stringify(ends.map(visible));

/** The drawing of a network as it is now. */
async function fetchDrawing(name) {
  const query = name === null ? "" : "?network=" + encodeURIComponent(name);
  const answer = await fetch("/v1/topology.svg" + query, { headers: headers(), cache: "no-store" });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim());
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (svg.localName !== "svg") throw new Error("the drawing cannot be read");
  return svg;
}

/** Fetches the drawing anew where the network is another one. Only the newest drawing counts. */
async function showNetwork({ name, topology }) {
  const links = topology.links.map((link) => [link.a, link.a_port, link.b, link.b_port, link.rate_bps, link.state, link.grade].join("\t"));
  const nodes = topology.nodes.map((node) => `${node.name}\t${node.kind}\t${node.stale || ""}`);
  const network = [name, topology.root_bridge, ...nodes, ...links].join("\n");
  if (network === drawnNetwork || performance.now() < redrawAt) return;
  drawnNetwork = network;
  const number = ++drawing;
  const notice = $("#undrawn");
  try {
    const svg = await fetchDrawing(name);
    if (number !== drawing) return;
    $("#network .picture").replaceChildren(document.importNode(svg, true));
    notice.hidden = true;
    const ends = ["a", "a-port", "b", "b-port"].map((end) => `data-${end}`);
    cables = new Map();
    for (const cable of document.querySelectorAll(".cable")) {
      const own = ends.map((end) => cable.getAttribute(end));
      // The drawing's left end may be either end of the link.
      const isTurned = cable.dataset.from === own[2];
      for (const [a, aPort, b, bPort, isReversed] of JSON.parse(cable.dataset.ways || JSON.stringify([[...own, false]]))) {
        const name = key(a, aPort, b, bPort);
        cables.set(name, [...(cables.get(name) || []), { cable, isReversed: isReversed !== isTurned }]);
      }
    }
  } catch (problem) {
    if (number !== drawing) return;
    drawnNetwork = null;
    redrawAt = performance.now() + REDRAW;
    notice.textContent = visible(`no drawing of this network (${problem.message}); the next attempt comes in ${REDRAW / 1000} s`);
    notice.hidden = false;
  }
}

/** The loads of each drawn cable, which may be several ways: together, and the most of one. */
function drawnLoads({ links, loads }) {
  const sums = new Map();
  const plus = (sum, measured) => (measured === null || measured === undefined ? sum : (sum || 0) + measured);
  loads.forEach((load, i) => {
    const link = links[i];
    const found = link && cables.get(key(link.a, link.a_port, link.b, link.b_port));
    for (const { cable, isReversed } of found || []) {
      const sum = sums.get(cable) || { rate: 0, there: null, back: null, most: 0 };
      const ways = isReversed ? [load.b_to_a, load.a_to_b] : [load.a_to_b, load.b_to_a];
      sum.rate += link.rate_bps;
      sum.there = plus(sum.there, ways[0]);
      sum.back = plus(sum.back, ways[1]);
      sum.most = Math.max(sum.most, ...ways.map((measured) => use(measured, link.rate_bps) || 0));
      sums.set(cable, sum);
    }
  });
  return sums;
}

function showLoads(shown) {
  for (const [cable, sum] of drawnLoads(shown)) {
    const [there, back] = [sum.there, sum.back].map((measured) => use(measured, sum.rate));
    const most = Math.min(Math.max(there || 0, back || 0), 1);
    cable.classList.toggle("busy", most >= BUSY);
    const bar = cable.querySelector(".load");
    if (bar) bar.setAttribute("width", bar.dataset.full * most);
    const label = cable.querySelector(".use");
    const percent = (value) => (value === null ? "–" : `${Math.round(value * 100)} %`);
    const uneven = sum.most - most > UNEVEN ? `  ≠ ${percent(sum.most)}` : "";
    if (label) label.textContent = there === null && back === null ? "" : `→ ${percent(there)}  ← ${percent(back)}${uneven}`;
  }
}

setInterval(() => {
  if (arrived && $("#state").className === "live" && performance.now() - arrived > LATE) {
    tell(`silent for ${Math.round((performance.now() - arrived) / 1000)} s`, "late");
  }
}, 1000);
document.addEventListener("visibilitychange", plan);
document.addEventListener("keydown", (event) => {
  // As in the terminal interface. Keys with others belong to the browser.
  if (event.key !== "n" || event.ctrlKey || event.metaKey || event.altKey || event.target.localName === "input") return;
  const buttons = [...$("#choice").children];
  if (buttons.length < 2) return;
  const at = buttons.findIndex((button) => button.getAttribute("aria-pressed") === "true");
  choose(buttons[(at + 1) % buttons.length].value);
});
$("#login").addEventListener("submit", (event) => {
  event.preventDefault();
  if ($("#login button").disabled) return;
  sessionStorage.setItem(TOKEN, $("#token").value.trim());
  $("#token").value = "";
  follow();
});
follow();
