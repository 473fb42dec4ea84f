"use strict";
// Shows what a service knows of its agents, and changes them. A name is written as text, never as markup.

const EVERY = 2000, LISTED = 50, RECENT = 10; // milliseconds between two looks, contexts and changes in the lists
const POLICIES = ["OptimisticGittins", "ThompsonSampling", "IDS", "BIMED", "GLUE", "BKLUCB", "KLUCB", "UCB"];
const REASONS = {
  policy: "an option was best by what is known", better: "the experts seemed better", guard: "the promise allowed no option",
  ask: "the experts were asked at random", support: "too little is known of any option", share: "the agent makes only a share",
  forced: "a person had forced it", floor: "drawn at random, to learn", "only option": "nothing else was possible",
};
const $ = (id) => document.getElementById(id);
const now = { agents: [], agent: null, context: null, contexts: [], searched: null, looks: 0, drawn: {} };

async function ask(path, body) {
  const token = sessionStorage.getItem("token"), headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), cache: "no-store" });
  const said = await answer.json().catch(() => ({})), message = said.error?.message ?? `the service answers ${answer.status}`;
  if (!answer.ok) throw Object.assign(new Error(message), { status: answer.status });
  return said;
}

const path = (rest = "") => `v1/agents/${encodeURIComponent(now.agent)}${rest}`;

// Names stand between isolates, so that one that reads from the right does not turn its sentence around
const isExpert = (arm) => arm?.expert === true;
const plain = (name) => (isExpert(name) ? "the experts" : Array.isArray(name) ? name.join(" / ") : String(name));
const named = (name) => `\u2068${plain(name)}\u2069`;
const inside = (context) => (context === null ? "" : ` in ${named(context)}`);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const whole = (value) => value.toLocaleString("en");
const many = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
const fixed = (value, digits) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const number = (value, less = 0) => fixed(value, Math.max(0, now.digits - less));
const span = (lower, upper) => `${number(lower)} to ${number(upper)}`;
const percent = (share) => `${Number((100 * share).toPrecision(3))}%`;
const moment = (seconds) => new Date(1000 * seconds).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function bar(kind, left, right, text = "") { // from left to right, in percent
  const made = make("span", { class: kind }, text);
  Object.assign(made.style, { left: `${left}%`, width: right > left ? `${right - left}%` : "" });
  return made;
}

const button = (inside, onclick, more = {}) => Object.assign(make("button", { type: "button", ...more }, ...inside), { onclick });
const soft = (text) => make("div", { class: "soft" }, text);
const track = (...bars) => make("div", { class: "track", "aria-hidden": "true" }, ...bars);
const row = (kind, name, picture, ...said) => make("div", { class: `row ${kind}`, role: "listitem" }, name, picture, make("div", {}, ...said));

function fill(id, data, children) { // only if something changed; the keyboard stays where it is
  const before = now.drawn[id], focused = [...$(id).querySelectorAll("button")].indexOf(document.activeElement);
  if (before === (now.drawn[id] = JSON.stringify(data))) return;
  $(id).replaceChildren(...children());
  if (focused >= 0) ($(id).querySelectorAll("button")[focused] ?? $("main")).focus();
}

function select(id, options) {
  const before = $(id).value;
  fill(id, options, () => options.map(([value, text]) => make("option", { value }, text)));
  if (options.some(([value]) => value === before)) $(id).value = before;
}

// What an agent does
function showAgent(view) {
  $("title").textContent = view.agent;
  $("does").textContent = `It ${view.does}.`;
  fill("alarms", view.alarms, () => view.alarms.map(([context, text]) => make("p", {}, make("bdi", {}, text), " ",
    ...(context === null ? [] : [button([`Show ${named(context)}`], () => choose(view.agent, context), { class: "link" })]))));
  const tile = ([rewards, mean, lower, upper], who) => make("div", {}, make("b", {}, rewards ? number(mean) : "–"),
    rewards ? `is what ${who} earned on average, in ${many(rewards, "case")} (limits ${span(lower, upper)})` : `${who}: no rewards yet`);
  fill("tiles", [view.earned, view.experts, now.digits], () => [tile(view.earned, "the agent's options"),
    ...(view.experts ? [tile(view.experts, "the experts, when asked,")] : [])]);
  const reasons = Object.entries(view.reasons).sort((a, b) => b[1] - a[1]), total = reasons.reduce((sum, [, count]) => sum + count, 0);
  fill("reasons", reasons, () => (total ? reasons.map(([reason, count]) => row("", make("span", {}, REASONS[reason] ?? reason),
    track(bar("fill", 0, (100 * count) / total)), `${whole(count)} (${percent(count / total)})`)) : [soft("It has decided nothing yet.")]));
}

function showContext(here) {
  const forced = now.view.forced.find(([context]) => context !== null && same(context, here.context));
  $("here").textContent = here.context === null ? "Its options" : `In ${named(here.context)}`;
  $("forced").textContent = forced ? `Here only ${named(forced[1])} is played, because a person forced it.` : "";
  $("changed").textContent = here.changed ? `The experts do ${here.changed} here than was known. Replace the bounds on them, or the promise may break.` : "";
  const [best, sure, worth] = here.verdict ?? [], unit = 10 ** now.digits;
  $("verdict").textContent = [here.verdict && `Best: ${named(best)}, with probability ${sure > 0.999 ? "above 99.9%" : percent(sure)}. Going on is worth at most ${number(Math.ceil(worth * unit) / unit)} a decision.`,
    here.restarts && `Means moved: older rewards were forgotten ${many(here.restarts, "time")}.`].filter(Boolean).join(" ");
  const { arms, lower, upper } = here.bounds, expert = arms.findIndex(isExpert);
  const ends = [...lower, ...upper, ...here.earned.flatMap(([rewards, , ...limits]) => (rewards ? limits : []))];
  const low = Math.min(...ends), wide = Math.max(...ends) - low || 1, at = (value) => 1 + (98 * (value - low)) / wide;
  const rough = 10 ** Math.floor(Math.log10(wide / 3)), step = rough * [1, 2, 5].find((factor) => wide < 6 * factor * rough);
  const ticks = Array.from({ length: 7 }, (_, k) => (Math.ceil(low / step) + k) * step).filter((value) => value <= low + wide);
  const option = (arm, k) => {
    const [rewards, mean, ...limits] = here.earned[k], bars = [bar("bounds", at(lower[k]), at(upper[k]))];
    if (rewards) bars.push(bar("limits", ...limits.map(at)), bar("mean", at(mean)));
    if (expert >= 0 && here.earned[expert][0]) bars.push(bar("rule", at(here.earned[expert][1])));
    const said = [many(rewards, "reward"), `bounds ${span(lower[k], upper[k])}`];
    if (here.waiting[k]) said.push(`${whole(here.waiting[k])} waiting`);
    if (here.chosen[k]) said.push(`chosen by experts ${many(here.chosen[k], "time")}`);
    return row(`${k === expert ? "experts" : ""} ${here.out[k].length ? "out" : ""}`, make("bdi", {}, k === expert ? "Experts" : plain(arm)), track(...bars),
      make("b", {}, rewards ? number(mean) : "no rewards yet"), rewards ? ` (${span(...limits)})` : "", soft(said.join(" · ")),
      soft(`Next with probability ${percent(here.probabilities[k])}`), ...here.out[k].map((why) => soft(`Not played: ${why}`)));
  };
  const axis = ticks.map((value) => bar("tick", at(value), 0, Number(value.toPrecision(6))));
  fill("options", here, () => [...arms.map(option), row("", make("span"), track(...axis))]);
  fill("budget", here.budget, () => (here.budget ? showBudget(...here.budget) : []));
  select("arm", arms.map((arm) => [JSON.stringify(arm), named(arm)]));
  select("where", [...(here.context === null ? [] : [["here", named(here.context)]]), ["everywhere", "everywhere"]]);
}

function showBudget(allowed, lost) {
  const share = lost > 0 ? Math.min(1, allowed > 0 ? lost / allowed : 1) : 0, about = now.view.policy.pooled ? ", in all contexts together" : inside(now.here.context);
  const says = lost > 0 ? `At worst ${number(lost, 1)} of that is used up${allowed > 0 ? ` (${percent(lost / allowed)})` : ""}.`
    : `Nothing of it is used up: if the bounds hold, its options have earned at least ${number(-lost, 1)} more than the experts would have.`;
  return [make("h4", {}, `What it may lose${about}`),
    make("p", {}, `So far the promise allows a loss of ${number(Math.max(0, allowed), 1)} against the experts, over all decisions. ${says}`),
    track(make("span", { class: "frame" }), bar(lost > allowed ? "fill over" : "fill", 0, 100 * share))];
}

// What was changed
function words(value) {
  if (typeof value === "number") return String(Number(value.toPrecision(5)));
  if (Array.isArray(value)) return value.map(words).join(", ") || "none";
  if (value && typeof value === "object") return isExpert(value) ? "the experts" : value.policy ?? JSON.stringify(value);
  return value ?? "none";
}

function differences(what, where, old, set, arms = []) { // `arms` has the names for lists with an entry for each
  const parts = (value) => value && typeof value === "object" && !isExpert(value) && !Array.isArray(value);
  if (same(old, set)) return [];
  if (parts(old) && parts(set)) return Object.keys({ ...old, ...set }).flatMap((key) =>
    differences(what.endsWith(key) ? what : `${what} ${key}`, where, old[key], set[key], set.bounds?.arms ?? arms));
  if (arms.length && old?.length === arms.length && set?.length === arms.length)
    return arms.flatMap((arm, k) => differences(`${what} of ${named(arm)}`, where, old[k], set[k]));
  return [`${what}${where}: ${words(old)} → ${words(set)}`];
}

function settings({ kind, said }) {
  if (kind !== "change") return [kind === "create" ? "The agent was made." : "The name of a context was erased."];
  const all = said.flatMap(([what, context, old, set]) => differences(what === "known" ? "" : what, inside(context), old, set));
  return all.length ? all.slice(0, 20) : ["Nothing became different."];
}

function showChanges(changes) {
  const versions = changes.filter((one) => one.kind !== "erase");
  fill("changes", changes, () => changes.map((one) => {
    const when = moment(one.time), later = versions.indexOf(one), before = versions[later + 1]?.version;
    const text = `Every setting goes back to what it was before ${when}. This undoes that change${later ? ` and ${many(later, "later one")}` : ""}. What was seen stays.`;
    const undo = () => askFirst("Undo this change?", text, "/rollback", { to: before });
    return row("", make("div", {}, when, soft(make("bdi", {}, one.by || "nobody named"))), make("div", {}, ...settings(one).map((line) => make("div", {}, line))),
      ...(one.kind === "change" && before ? [button(["Undo"], undo, { "aria-label": `Undo the change of ${when}` })] : []));
  }));
}

// Changing
function askFirst(title, text, where, body) {
  now.change = { where: path(where), body: { id: crypto.getRandomValues(new Uint32Array(4)).join("-"), ...body } }; // counts once, if it is sent again
  [$("sure-title").textContent, $("sure-text").textContent, $("sure-problem").textContent] = [title, text, ""];
  $("sure").showModal();
}

async function confirmed() {
  $("sure-yes").disabled = true;
  try {
    await ask(now.change.where, now.change.body);
    await look();
    $("sure").close();
    if (document.activeElement === document.body) $("main").focus(); // the button that was pressed is no more
    $("said").textContent = "Done. It stands at the top of what was changed.";
    setTimeout(() => { $("said").textContent = ""; }, 6000);
  } catch (error) {
    const lost = "There is no answer. Try again: if it was done, it is not done twice.";
    $("sure-problem").textContent = error.status ? `That did not work: ${error.message}` : lost;
  }
  $("sure-yes").disabled = false;
}

const forms = { // by form: the question, what will happen, and the change
  option(act) {
    const arm = JSON.parse($("arm").value), name = named(arm), { context } = now.here, everywhere = $("where").value === "everywhere";
    const place = everywhere ? null : context, where = everywhere ? " everywhere" : inside(context);
    const out = now.here.bounds.arms.filter((_, k) => now.here.out[k].includes("forbidden"));
    return {
      force: [`Play only ${name}${where}?`, "From the next decision on, whatever was learned and promised, until you let the agent decide again.",
        { force: arm, context: place }],
      free: [`Let the agent decide again${where}?`, "From the next decision on it goes by its policy and its promise.", { free: true, context: place }],
      forbid: [`Forbid ${name}${inside(context)}?`, "It is not played any more. Rewards on their way still count.", { forbid: [...out, arm], context }],
      allow: [`Allow ${name}${inside(context)}?`, "It may be played again.", { forbid: out.filter((one) => !same(one, arm)), context }],
      retire: [`Retire ${name}?`, "It is not played any more in any context. Rewards on their way still count.", { retire: arm }],
      restore: [`Restore ${name}?`, "It may be played again in every context that does not forbid it.", { restore: arm }],
    }[act];
  },
  bounds() {
    const { bounds, context } = now.here, k = bounds.arms.findIndex((arm) => same(arm, JSON.parse($("arm").value)));
    const lower = bounds.lower.with(k, $("lower").valueAsNumber), upper = bounds.upper.with(k, $("upper").valueAsNumber);
    return [`Replace the bounds of ${named(bounds.arms[k])}${inside(context)}?`,
      `Its mean is then taken to be from ${lower[k]} to ${upper[k]}, instead of ${span(bounds.lower[k], bounds.upper[k])}. Promises rely on bounds.`,
      { bounds: { ...bounds, lower, upper }, context }];
  },
  share() {
    const share = $("share").valueAsNumber / 100;
    return ["Change the share?", `The agent then makes ${percent(share)} of the decisions instead of ${percent(now.view.share)}, and experts the others.`, { share }];
  },
  policy() {
    const { policy } = now.view, own = policy.base ?? policy, base = $("policy").value === own.policy ? own : { policy: $("policy").value };
    const { margin, ...rest } = policy.promise?.promise ?? {}, given = $("margin").valueAsNumber;
    const promise = isNaN(given) ? rest : { ...rest, margin: given }, limits = Object.entries(promise).map(([what, value]) => `${what} ${value}`);
    const guard = { ...(policy.base ? policy : { confidence: 0.975 }), policy: "Guarded", base, promise: { promise } };
    const promised = limits.length ? `this: ${limits.join(", ")}` : "nothing: it may lose against them";
    return ["Change the policy?", `It then decides by ${base.policy}, and promises the experts ${promised}. What is known and was seen stays.`,
      { policy: limits.length ? guard : base }];
  },
};

function suggest() { // what the forms start from, until something else is chosen or changed
  const { view: { policy, share, version, experts, forced }, here: { bounds, out, context } } = now, base = (policy.base ?? policy).policy;
  const k = bounds.arms.findIndex((arm) => JSON.stringify(arm) === $("arm").value), margin = policy.promise?.promise.margin ?? "";
  const given = { lower: bounds.lower[k], upper: bounds.upper[k], share: Number((100 * share).toPrecision(9)), margin, policy: base };
  select("policy", [...new Set([base, ...POLICIES])].map((name) => [name, name]));
  const before = now.drawn.forms, about = now.drawn.forms = JSON.stringify([now.agent, context, k, version]);
  if (before !== about) for (const [id, value] of Object.entries(given)) $(id).value = value;
  const [forbidden, retired] = ["forbidden", "retired"].map((why) => out[k].includes(why)), free = forced.length > 0;
  const linear = ["OFUL", "ROFUL", "LinearThompson"].includes(base); // their bounds and policy are fixed
  for (const part of document.querySelectorAll(".not-linear")) part.hidden = linear;
  for (const [value, may] of Object.entries({ forbid: !forbidden && !linear, allow: forbidden, retire: !retired, restore: retired, free }))
    document.querySelector(`[value=${value}]`).hidden = !may;
  for (const part of document.querySelectorAll(".needs-experts")) part.hidden = !experts;
}

// Looking, again and again
function choose(agent, context = null) {
  if (agent !== now.agent) now.searched = null;
  Object.assign(now, { agent, context });
  $("where").replaceChildren(now.drawn.where = "");
  look();
}

function showColumns({ columns }) {
  $("case").hidden = !columns?.length;
  fill("columns", [now.agent, columns], () => (columns ?? []).map((name) => make("p", {}, make("label", {}, named(name), make("input", { name })))));
}

async function findCase() {
  const given = [...new FormData($("case"))].map(([name, value]) => [name, value.trim() || null]);
  $("lost").textContent = "";
  try {
    choose(now.agent, (await ask(path("/leaf"), { context: Object.fromEntries(given) })).context);
    $("main").focus(); // on a phone it is far below
  } catch ({ message }) {
    $("lost").textContent = `That did not work: ${message}`;
  }
}

async function findContexts(view) {
  const wanted = $("search").value.trim();
  $("choose").hidden = view.contexts === null;
  if (view.contexts === null) [now.context, now.contexts] = [null, []];
  else if (now.searched !== wanted) {
    const [found, contexts] = await ask(path(`/contexts?limit=${LISTED}&search=${encodeURIComponent(wanted)}`));
    $("found").textContent = found > LISTED ? `the first ${LISTED} of ${whole(found)}` : many(found, "context");
    Object.assign(now, { searched: wanted, contexts, context: now.context ?? contexts[0] ?? null });
  }
  return view.contexts === null ? "" : `?name=${encodeURIComponent(typeof now.context === "string" ? now.context : JSON.stringify(now.context))}`;
}

async function look() {
  try {
    if (now.looks++ % 5 === 0) now.agents = await ask("v1/agents");
    if (!now.agents.some((one) => one.agent === now.agent)) Object.assign(now, { agent: now.agents[0]?.agent, context: null, searched: null });
    if (!now.agent) throw Object.assign(new Error("there is no agent that this token may see"), { status: 404 });
    const { agent } = now, view = await ask(path()), query = await findContexts(view), { context } = now;
    const here = await ask(path(`/context${query}`)), isNew = now.view?.agent !== agent || now.view.version !== view.version;
    const changes = isNew ? await ask(path(`/changes?limit=${RECENT}`)) : now.changes;
    if (agent === now.agent && same(context, now.context)) show(view, here, changes);
    [$("token-form").hidden, $("problem").textContent, $("all").hidden] = [true, "", false];
    $("live").textContent = now.seen = new Date().toLocaleTimeString("en-GB");
    document.body.classList.remove("old");
  } catch ({ status, message }) {
    const old = now.seen ? ` The numbers below are old, from ${now.seen}.` : "";
    const said = status ? `The service says: ${message}.${old}` : `The service does not answer.${old}`;
    const text = status === 401 && !sessionStorage.getItem("token") ? "" : said;
    if (status === 401) [$("token-form").hidden, $("all").hidden] = [false, true];
    if (status === 404) Object.assign(now, { context: null, searched: null }); // its name was erased
    if ($("problem").textContent !== text) $("problem").textContent = text;
    $("live").textContent = "waiting";
    document.body.classList.add("old");
  }
}

function show(view, here, changes) {
  const width = Math.max(...here.bounds.high) - Math.min(...here.bounds.low);
  Object.assign(now, { view, here, changes, digits: Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(width)))) });
  document.title = `${view.alarms.length ? `(${view.alarms.length}) ` : ""}${view.agent} – meanbounds`;
  const current = (is) => ({ "aria-current": String(is) }), item = (...given) => make("li", {}, button(...given));
  fill("agents", [now.agents, now.agent], () => now.agents.map(({ agent, alarms }) => item([make("bdi", {}, agent),
    make("span", { class: "red" }, alarms.length ? ` · ${many(alarms.length, "alarm")}` : "")], () => choose(agent), current(agent === now.agent))));
  fill("contexts", [now.contexts, now.context], () => now.contexts.map((name) =>
    item([make("bdi", {}, plain(name))], () => choose(now.agent, name), current(same(name, now.context)))));
  showAgent(view);
  showColumns(view);
  showContext(here);
  showChanges(changes);
  suggest();
}

let looking = 0, searching = 0;

async function again() {
  clearTimeout(looking);
  if (!document.hidden) await look();
  looking = setTimeout(again, EVERY);
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value.trim());
  [$("token").value, now.looks] = ["", 0];
  look();
});
for (const form of document.querySelectorAll("[data-change]")) form.addEventListener("submit", (event) => {
  event.preventDefault();
  const [title, text, body] = forms[form.dataset.change](event.submitter.value);
  askFirst(title, text, "/changes", body);
});
$("case").addEventListener("submit", (event) => { event.preventDefault(); findCase(); });
$("search").addEventListener("input", () => { clearTimeout(searching); searching = setTimeout(look, 200); });
$("arm").addEventListener("change", suggest);
$("sure-yes").addEventListener("click", confirmed);
$("sure-no").addEventListener("click", () => $("sure").close());
document.addEventListener("visibilitychange", () => { if (!document.hidden) again(); });
again();
