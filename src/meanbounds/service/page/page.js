"use strict";
// Shows what a service knows, asks again every second, and writes texts as texts: names of arms are never markup.

const EVERY = 1000; // milliseconds between two looks
const MOST = 50; // contexts in the list
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);
const shown = { agents: [], key: null, context: null, searched: null, drawn: "", colours: new Map() };

// Asking

async function ask(path, method = "GET", body = undefined) {
  const headers = {};
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = "Bearer " + token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const said = await answer.json();
  if (answer.status === 401) $("token-form").hidden = false;
  if (!answer.ok) throw new Error(said.error ? said.error.message : "the service answers " + answer.status);
  return said;
}

const nameOf = (context) => (typeof context === "string" ? context : JSON.stringify(context));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const inPath = (context) => encodeURIComponent(nameOf(context));
const agentPath = () => "v1/agents/" + encodeURIComponent(shown.key);
const agentNow = () => shown.agents.find((one) => one.agent === shown.key);
const hasContexts = () => agentNow() && agentNow().contexts !== null;

// Making elements

function make(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function draw(name, attributes = {}, ...inside) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

const number = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const whole = (value) => value.toLocaleString("en");

function colourOf(arm) {
  if (!shown.colours.has(arm)) shown.colours.set(arm, "k" + (shown.colours.size % 8));
  return shown.colours.get(arm);
}

// A scale from the lowest to the highest reward, 360 units wide
function scaleOf(low, high) {
  const left = 8, width = 344;
  return (value) => left + (width * (Math.min(Math.max(value, low), high) - low)) / (high - low || 1);
}

function axis(picture, x, low, high, y) {
  for (let k = 0; k <= 4; k++) {
    const value = low + (k * (high - low)) / 4;
    const anchor = k === 0 ? "start" : k === 4 ? "end" : "middle";
    picture.append(draw("line", { class: "rule", x1: x(value), x2: x(value), y1: 2, y2: y - 12 }));
    picture.append(draw("text", { x: x(value), y, "text-anchor": anchor }, String(Number(value.toPrecision(3)))));
  }
}

// Arms

function armView(arm, low, high) {
  const row = make("div", { class: `arm ${colourOf(arm.arm)}${arm.can_be_best && !arm.retired ? "" : " out"}` });
  const x = scaleOf(low, high);
  const said = [
    `bounds ${number(arm.lower)} to ${number(arm.upper)}`,
    arm.mean === null ? "not played yet" : `mean ${number(arm.mean)} (${number(arm.mean_lower)} to ${number(arm.mean_upper)})`,
    `${whole(arm.plays)} reward${arm.plays === 1 ? "" : "s"}${arm.pending ? `, ${whole(arm.pending)} pending` : ""}`,
    `next with probability ${number(arm.probability)}`,
  ];
  if (arm.index !== null) said.push(`index ${number(arm.index)}`);
  if (arm.trust < 1) said.push(`trust in its bounds ${number(arm.trust)}`);
  const words = make("div", {}, make("h4", {}, String(arm.arm)), make("p", { class: "numbers" }, said.join(" · ")));
  if (arm.why_not) words.append(make("p", { class: "soft" }, `Left out${arm.trust < 1 && !arm.retired ? " as far as its bounds are trusted" : ""}: ${arm.why_not}.`));
  for (const found of arm.contradictions) words.append(make("p", { class: "wrong" }, `✕ ${found}`));
  const picture = draw("svg", { viewBox: "0 0 360 46", role: "img", "aria-label": `${arm.arm}: ${said.join(", ")}` });
  axis(picture, x, low, high, 44);
  const middle = 16;
  picture.append(draw("rect", { class: "bounds", x: x(arm.lower), y: middle - 9, height: 18, width: Math.max(x(arm.upper) - x(arm.lower), 2) }));
  if (arm.mean !== null) {
    picture.append(draw("line", { class: "seen", x1: x(arm.mean_lower), x2: x(arm.mean_upper), y1: middle, y2: middle }));
    picture.append(draw("circle", { class: "mean", cx: x(arm.mean), cy: middle, r: 6 }));
  }
  if (arm.index !== null) picture.append(draw("line", { class: "index", x1: x(arm.index), x2: x(arm.index), y1: middle - 12, y2: middle + 12 }));
  for (const side of arm.contradicted) {
    const at = x(arm[side]);
    picture.append(draw("path", { class: "cross", d: `M${at - 6} ${middle - 6}l12 12m0-12l-12 12` }));
  }
  row.append(words, picture);
  return row;
}

function showArms(view) {
  const low = Math.min(...view.arms.map((arm) => arm.low)), high = Math.max(...view.arms.map((arm) => arm.high));
  const indexed = view.arms.some((arm) => arm.index !== null);
  $("key").textContent =
    "The pale bar is what the bounds allow; the dot is the mean of the rewards, and the line through it where the true mean is, " +
    "at all times at once, with 95% confidence." + (indexed ? " The upright stroke is the index: the largest is played next." : "") +
    " A red cross marks a bound that rewards contradict.";
  $("arms").replaceChildren(...view.arms.map((arm) => armView(arm, low, high)));
}

// Value and plays

function valueRow(label, kind, value, low, high) {
  const x = scaleOf(low, high);
  const said = value.rewards
    ? `${number(value.mean)} (${number(value.lower)} to ${number(value.upper)}), ${whole(value.rewards)} rewards`
    : "no rewards yet";
  const picture = draw("svg", { viewBox: "0 0 360 46", role: "img", "aria-label": `${label}: ${said}` });
  axis(picture, x, low, high, 44);
  if (value.rewards) {
    picture.append(draw("line", { class: "seen", x1: x(value.lower), x2: x(value.upper), y1: 16, y2: 16 }));
    picture.append(draw("circle", { class: "mean", cx: x(value.mean), cy: 16, r: 6 }));
  }
  const words = make("div", {}, make("h4", {}, label), make("p", { class: "numbers" }, said));
  return make("div", { class: `arm ${kind}` }, words, picture);
}

function showValue(here, all) {
  const rows = [];
  const parts = all === null ? [["", here]] : [[" here", here], [", all contexts", all]];
  for (const [where, found] of parts) {
    rows.push(valueRow("Agent" + where, "agent", found.agent, found.low, found.high));
    rows.push(valueRow("Experts" + where, "expert", found.expert, found.low, found.high));
  }
  $("value").replaceChildren(...rows);
}

const clock = (time, span) =>
  new Date(1000 * time).toLocaleString("en-GB", span > 86400 ? { day: "numeric", month: "short" } : span > 120 ? { hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function lines(marks, arms, of, top, label) {
  const first = marks[0].time, last = marks[marks.length - 1].time, span = last - first;
  const x = (time) => 44 + (306 * (time - first)) / (span || 1), y = (value) => 130 - (118 * value) / top;
  const picture = draw("svg", { viewBox: "0 0 360 152", role: "img", "aria-label": label });
  for (const part of [0, 0.5, 1]) {
    const value = part * top;
    picture.append(draw("line", { class: "rule", x1: 44, x2: 350, y1: y(value), y2: y(value) }));
    picture.append(draw("text", { x: 40, y: y(value) + 4, "text-anchor": "end" }, top > 1 ? whole(Math.round(value)) : String(value)));
  }
  picture.append(draw("text", { x: 44, y: 148 }, clock(first, span)), draw("text", { x: 350, y: 148, "text-anchor": "end" }, clock(last, span)));
  arms.forEach((arm, k) => {
    const path = marks.map((mark, n) => `${n ? "L" : "M"}${x(mark.time).toFixed(1)} ${y(of(mark, k)).toFixed(1)}`).join("");
    picture.append(draw("path", { class: `line ${colourOf(arm)}`, d: path }));
  });
  return picture;
}

function showPlays(history) {
  const { marks, arms } = history;
  if (marks.length < 2) {
    $("plays").replaceChildren(make("p", { class: "soft" }, marks.length ? "One decision or reward so far." : "Nothing has happened here lately."));
    return;
  }
  const end = marks[marks.length - 1];
  const legend = make("ul", { class: "legend" }, ...arms.map((arm, k) => make("li", { class: colourOf(arm) }, make("span", {}, `${arm}: ${whole(end.plays[k])}`))));
  const counts = arms.map((arm, k) => `${arm} ${end.plays[k]}`).join(", ");
  const parts = [legend, lines(marks, arms, (mark, k) => mark.plays[k], Math.max(1, ...end.plays), `Decisions so far: ${counts}`)];
  if (end.trust !== null) {
    const trusts = arms.map((arm, k) => `${arm} ${number(end.trust[k])}`).join(", ");
    parts.push(make("h4", {}, "Trust in the bounds of each arm"), lines(marks, arms, (mark, k) => mark.trust[k], 1, `Trust: ${trusts}`));
  }
  $("plays").replaceChildren(...parts);
}

// The rest of the page

function showAlarms(alarms) {
  $("alarms-part").hidden = alarms.length === 0;
  $("alarms").replaceChildren(...alarms.slice().reverse().map((text) => make("li", { class: "wrong" }, text)));
}

function showAgent() {
  const agent = agentNow(), forced = agent.forced;
  const where = shown.context === null ? "" : `: ${nameOf(shown.context)}`;
  $("title").textContent = agent.agent + where;
  const assumed = Object.entries(agent.assumptions).map(([name, log_e]) => `evidence against “${name}”: e-value ${Math.exp(log_e).toPrecision(2)}`);
  $("about").textContent = [
    `${agent.policy.kind || agent.policy.policy || "policy"}, version ${agent.version}`,
    agent.share >= 1 ? "decides everything" : agent.share <= 0 ? "observes: experts decide everything" : `decides ${Number((100 * agent.share).toPrecision(3))}%, experts the rest`,
    ...assumed,
  ].join(" · ");
  $("forced").textContent = forced.length
    ? forced.map(([context, arm]) => `${arm} is forced in ${context === null ? "all contexts" : nameOf(context)}.`).join(" ")
    : "No arm is forced: the agent decides.";
  $("forced").className = forced.length ? "wrong" : "";
}

function fillArms(view) {
  const names = view.arms.filter((arm) => !arm.retired).map((arm) => arm.arm);
  const before = $("stop-arm").value;
  const options = names.map((arm, k) => make("option", { value: k }, String(arm)));
  if ($("stop-arm").options.length !== names.length || names.some((arm, k) => $("stop-arm").options[k].text !== String(arm))) {
    $("stop-arm").replaceChildren(...options);
    if (before) $("stop-arm").value = before;
  }
  shown.names = names;
  $("stop-where").hidden = document.querySelector("label[for=stop-where]").hidden = !hasContexts();
}

async function findContexts() {
  const wanted = $("search").value.trim();
  const found = await ask(`${agentPath()}/contexts?limit=${MOST}&search=${encodeURIComponent(wanted)}`);
  shown.searched = wanted;
  const more = found.contexts.length === MOST && found.total > MOST ? `the first ${MOST}` : `${found.contexts.length}`;
  $("found").textContent = `${more} of ${whole(found.total)} contexts${wanted ? ` with “${wanted}”` : ""}`;
  if (shown.context === null && found.contexts.length) shown.context = found.contexts[0];
  const choose = (context) => make("li", {}, make("button", { type: "button", "aria-current": String(same(context, shown.context)) }, nameOf(context)));
  $("contexts").replaceChildren(...found.contexts.map(choose));
  [...$("contexts").querySelectorAll("button")].forEach((button, k) => button.addEventListener("click", () => pick(found.contexts[k])));
}

function pick(context) {
  shown.context = context;
  for (const button of $("contexts").querySelectorAll("button")) button.setAttribute("aria-current", String(button.textContent === nameOf(context)));
  shown.drawn = "";
  look();
}

function fillAgents() {
  const keys = shown.agents.map((one) => one.agent);
  if (shown.key === null || !keys.includes(shown.key)) [shown.key, shown.context, shown.searched] = [keys[0] ?? null, null, null];
  const now = [...$("agent").options].map((option) => option.value);
  if (!same(now, keys)) $("agent").replaceChildren(...keys.map((key) => make("option", { value: key }, key)));
  $("agent").value = shown.key;
  $("choose").hidden = !hasContexts();
}

async function look() {
  try {
    shown.agents = (await ask("v1/agents")).agents;
    $("token-form").hidden = true;
    $("all").hidden = false;
    fillAgents();
    if (shown.key === null) throw new Error("this service has no agents yet");
    if (hasContexts() && (shown.searched === null || shown.searched !== $("search").value.trim())) await findContexts();
    const context = shown.context;
    if (hasContexts() && context === null) throw new Error("this agent has no contexts yet: they come with requests");
    const query = hasContexts() ? `?context=${inPath(context)}` : "";
    const [view, here, all] = await Promise.all([
      ask(hasContexts() ? `${agentPath()}/contexts/${inPath(context)}` : `${agentPath()}/arms`),
      ask(`${agentPath()}/history${query}`),
      hasContexts() ? ask(`${agentPath()}/history`) : null,
    ]);
    if (context === shown.context) show(view, here, all);
    $("problem").hidden = true;
    $("live").textContent = `live · ${whole(agentNow().position)} events in the log`;
  } catch (error) {
    $("problem").hidden = false;
    $("problem").textContent = error.message;
    $("live").textContent = error instanceof TypeError ? "the service does not answer; trying again" : "waiting";
  }
}

function show(view, here, all) {
  showAgent();
  const state = JSON.stringify([view, here, all]);
  if (state === shown.drawn) return; // nothing is drawn anew under a reader's eyes
  shown.drawn = state;
  view.arms.forEach((arm) => colourOf(arm.arm));
  showArms(view);
  showValue(here, all);
  showPlays(here);
  showAlarms(here.alarms);
  fillArms(view);
}

// Emergency stop

let meant = null;

function askFirst(text, action) {
  meant = action;
  $("sure-text").textContent = text;
  $("sure").showModal();
}

async function act(action, done) {
  try {
    await action();
    $("stop-said").textContent = done;
  } catch (error) {
    $("stop-said").textContent = `That did not work: ${error.message}`;
  }
  await look();
}

function force() {
  const arm = shown.names[Number($("stop-arm").value)];
  const here = hasContexts() && $("stop-where").value === "here";
  const where = here ? `in ${nameOf(shown.context)}` : "everywhere";
  const body = here ? { arm, context: shown.context } : { arm };
  askFirst(`Play only ${arm} ${where}, from the next request on?`, () =>
    act(() => ask(`${agentPath()}/forced`, "PUT", body), `${arm} is forced ${where}.`));
}

async function free() {
  const forced = agentNow().forced;
  const paths = forced.map(([context]) => `${agentPath()}/forced${context === null ? "" : `?context=${inPath(context)}`}`);
  await act(() => Promise.all(paths.map((path) => ask(path, "DELETE"))), "The agent decides again.");
}

// Start

function start() {
  $("stop").addEventListener("submit", (event) => { event.preventDefault(); force(); });
  $("free-button").addEventListener("click", free);
  $("sure-no").addEventListener("click", () => $("sure").close());
  $("sure-yes").addEventListener("click", () => { $("sure").close(); meant(); });
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", $("token").value.trim());
    $("token").value = "";
    look();
  });
  $("agent").addEventListener("change", () => {
    [shown.key, shown.context, shown.searched, shown.drawn] = [$("agent").value, null, null, ""];
    shown.colours.clear();
    look();
  });
  let waiting = 0;
  $("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 150); });
  const again = async () => {
    if (!document.hidden) await look();
    setTimeout(again, EVERY);
  };
  again();
}

start();
