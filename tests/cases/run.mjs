// Runs the behavioural cases (see README.md in this folder) with the JavaScript module, in Node.js and
// in a browser, and with its HTTP client.

// Runs the cases of files, `[[area, content]]` by name, with a `Service` or an object with the same
// methods. Returns the number of cases, and the failures.
export async function run(service, files) {
  const cases = files.flatMap(([area, content]) => all(area, content));
  const failures = [];
  for (const [index, one] of cases.entries()) {
    try {
      await judge(service, one, index + 1);
    } catch (error) {
      failures.push(`${one.name}: ${error.message}`);
    }
  }
  return { cases: cases.length, failures };
}

function all(area, { people = ["alice"], given = [], cases }) {
  return cases.flatMap(({ name, each, steps, ...step }) => {
    const rows = each?.length ? each : [{}];
    const all = [...given, ...(steps ?? [step])];
    return rows.map((variables, row) => ({ name: `${area}: ${name} [${row}]`, people, steps: all, variables }));
  });
}

async function judge(service, { people, steps, variables: row }, number) {
  const variables = { ...row, n: number };
  const sessions = {};
  for (const name of people) {
    const email = `${name}-${number}@example.com`;
    const session = await service.signIn({ issuer: "cases", subject: email, email });
    const { id, teams } = await session.call("user.me");
    sessions[name] = session;
    Object.assign(variables, { [name]: id, [`${name}.team`]: teams[0].team_id, [`${name}.email`]: email });
  }
  for (const [index, step] of steps.entries()) {
    const who = filled(step.as ?? "alice", variables);
    const session = who.startsWith("env_") ? service.asToken(who) : sessions[who];
    const wrong = await attempt(session, step, variables);
    if (wrong) throw new Error(`step ${index + 1} (${step.call}): ${wrong}`);
  }
}

async function attempt(session, step, variables) {
  if (!session) return "nobody is called so";
  let output;
  try {
    output = await session.call(step.call, filled(step.with ?? {}, variables));
  } catch (error) {
    if (!step.fails) return `${error.kind} ${error.code}: ${error.message}`;
    return otherFailure(step.fails, error);
  }
  if (step.fails) return "it succeeded";
  const wrong = "gives" in step && mismatch(filled(step.gives, variables), output, "");
  if (wrong) return wrong;
  for (const [name, place] of Object.entries(step.keep ?? {})) {
    const kept = at(output, place);
    if (kept === undefined) return `nothing is at ${place}`;
    variables[name] = kept;
  }
}

const at = (output, place) => place.split(".").filter(Boolean).reduce((value, part) => value?.[part], output);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function otherFailure(expected, { kind, code, fields = [] }) {
  if (expected.kind !== undefined && expected.kind !== kind) return `kind ${kind}, not ${expected.kind}`;
  if (expected.code !== undefined && expected.code !== code) return `code ${code}, not ${expected.code}`;
  const names = String(fields.map(({ field }) => field));
  if (expected.fields && String(expected.fields) !== names) return `fields ${names}, not ${expected.fields}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

// Returns a message about the first mismatch of an output; nothing if the output matches.
function mismatch(expected, given, place) {
  if (expected === "$any") return given === null && `${place}: there is none`;
  if (expected === "$uuid") return !UUID.test(given) && `${place}: ${given} is no UUID`;
  if (expected === "$time") return !TIME.test(given) && `${place}: ${given} is not a time`;
  if (isObject(expected) && isObject(given)) {
    return first(Object.entries(expected), ([name, wanted]) => {
      const there = Object.hasOwn(given, name);
      if (wanted === "$absent") return there && `${place}.${name}: is there`;
      return there ? mismatch(wanted, given[name], `${place}.${name}`) : `${place}.${name}: is missing`;
    });
  }
  if (Array.isArray(expected) && Array.isArray(given)) {
    if (expected.length !== given.length) return `${place}: ${given.length} items, not ${expected.length}`;
    return first([...expected.entries()], ([index, wanted]) => mismatch(wanted, given[index], `${place}.${index}`));
  }
  const is = JSON.stringify(given);
  return is !== JSON.stringify(expected) && `${place}: ${is}, not ${JSON.stringify(expected)}`;
}

function first(items, wrong) {
  for (const item of items) {
    const found = wrong(item);
    if (found) return found;
  }
}

// Placeholders in expected outputs, which are not variables.
const MATCHES = ["$any", "$absent", "$uuid", "$time"];

// Replaces the variables in a value.
function filled(value, variables) {
  if (typeof value === "string") return textFilled(value, variables);
  if (Array.isArray(value)) return value.map((item) => filled(item, variables));
  if (!isObject(value)) return value;
  if (typeof value.$repeat === "string" && "times" in value) return value.$repeat.repeat(value.times);
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, filled(of, variables)]));
}

function textFilled(text, variables) {
  const valueOf = (name) => {
    if (!Object.hasOwn(variables, name)) throw new Error(`unknown variable ${name}`);
    return variables[name];
  };
  if (MATCHES.includes(text)) return text;
  if (/^\$[A-Za-z0-9_.]+$/.test(text)) return valueOf(text.slice(1));
  return text.replace(/\$(\$|\{([^}]*)\})?/g, (_, sign, name) => {
    if (sign === undefined) throw new Error(`a single dollar sign: ${text}`);
    if (sign === "$") return "$";
    const value = valueOf(name);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}
