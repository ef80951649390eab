// Uses the package through its declarations. The marked lines must be type errors.

import { Client, openBundle, parse, render, scan, SecretsError, Service, toRecord, verifyWebhook } from "secrets-service";
import type { ErrorKind, OperationError, Operations, Secret, SecretWithValue, Session } from "secrets-service";
import * as small from "secrets-service/bundle";
import * as http from "secrets-service/client";
import wasm from "secrets-service/bundle.wasm";
import { init, openBundle as openAfterInit } from "secrets-service/bundle/init";
import * as whole from "secrets-service/init";
import { openBundleInWorker } from "secrets-service/worker";
import { type Dispatcher, fetch as fetchOfUndici } from "undici";

type Format = "dotenv" | "json";

declare const dispatcher: Dispatcher;

async function use(session: Session | Client): Promise<string> {
  const project = await session.project.create({ name: "Web API" });
  const at = { project: project.slug, environment: "development" };
  const made: Secret = await session.secret.create({ ...at, key: "A", value: "kvc_1" });
  const version: number = made.version;
  const secret = await session.secret.get({ ...at, key: "A" });
  const value: string | undefined = secret.value;
  await session.secret.rollBack({ ...at, key: "A", version: 1 });
  await session.permissionDefaults.get({ project: project.id });
  const exported: string[] = (await session.secret.export(at)).map(({ value }) => value);
  const list: SecretWithValue[] = await session.secret.export(at, { signal: new AbortController().signal });
  const text: string = (await session.secret.export({ ...at, format: "dotenv" })).text;
  const values: Record<string, string> = toRecord(list);
  const render = async (format?: Format) => {
    const either = await session.secret.export({ ...at, ...(format && { format }) });
    return "text" in either ? either.text : String(either.length);
  };
  const either: SecretWithValue[] | { text: string } = await session.secret.export({ ...at, format: undefined as Format | undefined });
  console.log(await render("json"), either);
  await session.project.list({}, { signal: new AbortController().signal });
  for await (const { action } of session.audit.iterate({ from: new Date(0), action: ["secret.read"], limit: 10 })) console.log(action);
  for await (const { version } of session.secret.iterateHistory({ ...at, key: "A" }, { signal: AbortSignal.timeout(1000) })) console.log(version);
  const caller = await session.user.me();
  const callerName: string = caller.auth_type === "user" ? caller.email : caller.scopes.join();
  console.log(callerName);
  // @ts-expect-error: a field of a user, but not of a token.
  console.log(caller.email);
  // @ts-expect-error: a field is missing.
  session.secret.iterateHistory(at);
  // @ts-expect-error: no such field.
  session.audit.iterate({ form: new Date(0) });
  // @ts-expect-error: a text and not a list.
  (await session.secret.export({ ...at, format: "json" })).map(({ value }) => value);
  // @ts-expect-error: no such option.
  await session.project.list({}, { sginal: undefined });
  // @ts-expect-error: no such field.
  await session.project.list({ nmae: "x" });
  // @ts-expect-error: no such operation.
  await session.secret.conjure({});
  // @ts-expect-error: a field is missing.
  await session.secret.create({ ...at, value: "kvc_1" });
  // @ts-expect-error: no such operation name.
  await session.call("secret.conjure");
  return `${version} ${value} ${exported.length} ${text} ${values["A"]}`;
}

async function remote(): Promise<void> {
  const client = new Client("https://secrets.example.com", { token: async () => "env_", timeout: 5000, fetch });
  await use(client);
  new Client("https://secrets.example.com", { fetch: fetchOfUndici });
  new Client("https://secrets.example.com", { fetch: (url, options) => fetchOfUndici(url, { ...options, dispatcher }) });
  new Client("https://secrets.example.com", { fetch: globalThis.fetch });
  new Client("https://secrets.example.com", { fetch: async (url) => Response.json({ url }) });
  new Client("https://secrets.example.com", {
    fetch: async (_, { method }) => ({ status: 200, headers: { get: () => method }, arrayBuffer: async () => new ArrayBuffer(0) }),
  });
  // @ts-expect-error: no response.
  new Client("https://secrets.example.com", { fetch: async () => "text" });
  const other: http.Client = new http.Client(new URL("https://secrets.example.com"));
  const operations: Operations = other;
  const names: string[] = (await operations.project.list()).map(({ name }) => name);
  console.log(names, await other.call("user.me", {}, { signal: AbortSignal.timeout(1000) }));
  await use(Client.fromEnv());
  const configured: Client = Client.fromEnv(process.env, { timeout: 5000, fetch });
  const given: http.Client = http.Client.fromEnv({ SECRETS_URL: "https://secrets.example.com", SECRETS_TOKEN: undefined });
  console.log(configured, given);
  // @ts-expect-error: options in the place of variables.
  Client.fromEnv({ timeout: 5000 });
  // @ts-expect-error: a token beside the variables.
  Client.fromEnv(process.env, { token: "env_" });
  // @ts-expect-error: no such option.
  new Client("https://secrets.example.com", { tokn: "env_" });
  // @ts-expect-error: a missing setting.
  new Client("https://secrets.example.com", { token: undefined });
}

async function loaded(): Promise<void> {
  await init(wasm);
  await init(fetch("https://cdn.example.com/bundle.wasm"));
  await whole.init(new Uint8Array());
  await whole.init(new Request("https://cdn.example.com/secrets.wasm"));
  const options = { key: "scbk_" };
  const keys: string[] = openAfterInit(new Uint8Array(), options).secrets.map(({ key }) => key);
  const bundle = await openBundleInWorker(new Uint8Array(), options, { timeout: 5000 });
  console.log(keys, bundle.seq, whole.operations().length);
  // @ts-expect-error: no module.
  await init(7);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof SecretsError)) throw error;
  const { kind, code, fields, requestId } = error as OperationError;
  const expected: ErrorKind = kind;
  const revived: SecretsError = SecretsError.fromJSON(error.toJSON());
  return `${expected} ${code} ${fields?.[0]?.field} ${requestId} ${revived.message}`;
}

async function main(): Promise<void> {
  const service: Service = await Service.memory({ rootKey: new Uint8Array(32) });
  await use(await service.signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" })).catch(reasonOf);
  const bundle = openBundle(new Uint8Array(), { passphrase: "correct horse battery" });
  const keys: string[] = bundle.secrets.map(({ key }) => key);
  const url: string | undefined = toRecord(bundle)["URL"];
  small.openBundle(new ArrayBuffer(8), { privateKey: "scbx_", signer: "scbs_" });
  small.openBundle(new DataView(new ArrayBuffer(8)), { key: "scbk_", atLeast: 7 });
  // @ts-expect-error: no bytes.
  small.openBundle("text", { key: "scbk_" });
  // @ts-expect-error: no such option.
  small.openBundle(new Uint8Array(), { key: "scbk_", at_least: 7 });
  // @ts-expect-error: a private key needs a signer.
  small.openBundle(new Uint8Array(), { privateKey: "scbx_" });
  // @ts-expect-error: exactly one credential.
  small.openBundle(new Uint8Array(), { key: "scbk_", passphrase: "correct horse battery" });
  const text: string = render(parse("A=1", "dotenv"), "k8s", "web");
  const lines: number[] = scan(text).map(({ line }) => line);
  verifyWebhook({ secret: "whsec_", headers: new Headers(), body: "{}" });
  verifyWebhook({ secret: "whsec_", headers: new Map([["webhook-id", "msg_1"]]), body: new ArrayBuffer(2) });
  verifyWebhook({ secret: "whsec_", headers: { "webhook-id": ["msg_1"] }, body: "{}" });
  // @ts-expect-error: a service is not created with new.
  new Service();
  console.log(keys, url, lines);
}

void main().then(remote).then(loaded);
