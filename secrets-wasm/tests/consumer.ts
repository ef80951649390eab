// Uses the package through its declarations. The marked lines must be type errors.

import { openBundle, parse, render, scan, Service, verifyWebhook } from "secrets-service";
import type { ErrorKind, Secret, Session } from "secrets-service";
import * as small from "secrets-service/bundle";

async function use(session: Session): Promise<string> {
  const project = await session.project.create({ name: "Web API" });
  const at = { project: project.slug, environment: "development" };
  const made: Secret = await session.secret.create({ ...at, key: "A", value: "kvc_1" });
  const version: number = made.version;
  const secret = await session.secret.get({ ...at, key: "A" });
  const value: string | undefined = secret.value;
  await session.secret.rollBack({ ...at, key: "A", version: 1 });
  await session.permissionDefaults.get({ project: project.id });
  // @ts-expect-error: no such operation.
  await session.secret.conjure({});
  // @ts-expect-error: a field is missing.
  await session.secret.create({ ...at, value: "kvc_1" });
  // @ts-expect-error: no such operation name.
  await session.call("secret.conjure");
  return `${version} ${value}`;
}

async function main(): Promise<void> {
  const service: Service = await Service.memory({ rootKey: new Uint8Array(32) });
  await use(await service.signIn({ issuer: "tests", subject: "alice", email: "alice@example.com" }));
  const bundle = openBundle(new Uint8Array(), { passphrase: "correct horse battery" });
  const keys: string[] = bundle.secrets.map(({ key }) => key);
  small.openBundle(new Uint8Array(), { privateKey: "scbx_", signer: "scbs_" });
  // @ts-expect-error: a private key needs a signer.
  small.openBundle(new Uint8Array(), { privateKey: "scbx_" });
  // @ts-expect-error: exactly one credential.
  small.openBundle(new Uint8Array(), { key: "scbk_", passphrase: "correct horse battery" });
  const text: string = render(parse("A=1", "dotenv"), "k8s", "web");
  const lines: number[] = scan(text).map(({ line }) => line);
  verifyWebhook({ secret: "whsec_", headers: new Headers(), body: "{}" });
  const kind: ErrorKind = "not_found";
  console.log(keys, lines, kind);
}

void main();
