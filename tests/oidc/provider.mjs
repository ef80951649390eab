// A real OpenID provider for the tests: `node provider.mjs FOLDER PORT KEY...`. KEY is a number that
// names a signing key, which is stored in FOLDER. The first key signs, all keys are published. A
// restart on the same port with other numbers is a key rollover.
import { createHash, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Provider } from 'oidc-provider';

const [folder, port, ...names] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;

// Derives the key from its name, so that it is the same after a restart.
function key(name) {
  const file = join(folder, `secrets-test-provider-${port}-${name}.json`);
  if (!existsSync(file)) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const kid = createHash('sha256').update(`${port} ${name}`).digest('hex').slice(0, 16);
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' };
    writeFileSync(file, JSON.stringify(jwk), { mode: 0o600 });
  }
  const jwk = JSON.parse(readFileSync(file, 'utf8'));
  return jwk;
}

const provider = new Provider(issuer, {
  jwks: { keys: names.map(key) },
  clients: [
    {
      client_id: 'alice',
      client_secret: 'a-secret-of-the-test',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    },
  ],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'https://secrets.test',
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        audience: resource,
        scope: 'api',
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  extraTokenClaims: (_, token) => ({
    sub: token.clientId,
    email: `${token.clientId}@example.com`,
    email_verified: true,
    name: 'Alice of the provider',
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'));
