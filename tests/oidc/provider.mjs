// A real OpenID provider for the tests: `node provider.mjs FOLDER PORT KEY...`. KEY is a number that
// names a signing key, which is stored in FOLDER. The first key signs, all keys are published. A
// restart on the same port with other numbers is a key rollover.
//
// Browsers sign in to the clients `confidential` and `public` if REDIRECT_URI is set. The
// login page signs every user in as Alice. AUTH_METHOD is the way in which confidential clients authenticate.
import { createHash, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Provider } from 'oidc-provider';

const [folder, port, ...names] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const authMethod = process.env.AUTH_METHOD ?? 'client_secret_basic';
const redirectUri = process.env.REDIRECT_URI;
const browsers = {
  grant_types: ['authorization_code'],
  response_types: ['code'],
  redirect_uris: [redirectUri],
};
const browserClients = [
  { client_id: 'confidential', client_secret: 'a-secret-of-the-test', token_endpoint_auth_method: authMethod },
  { client_id: 'public', token_endpoint_auth_method: 'none' },
];

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
      token_endpoint_auth_method: authMethod,
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    },
    ...(redirectUri ? browserClients.map((client) => ({ ...browsers, ...client })) : []),
  ],
  clientAuthMethods: [authMethod, 'none'],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  findAccount: (_, accountId) => ({
    accountId,
    claims: () => ({
      sub: accountId,
      email: `${accountId}@example.com`,
      email_verified: true,
      name: 'Alice of the provider',
    }),
  }),
  interactions: { url: (_, interaction) => `/login/${interaction.uid}` },
  // Pretends that the user has granted all scopes before.
  async loadExistingGrant({ oidc: { provider, session, client } }) {
    const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // Access tokens of browsers are for the userinfo endpoint.
      defaultResource: (_, client) =>
        client.grantTypeAllowed('client_credentials') ? 'https://secrets.test' : undefined,
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
provider.use(async (ctx, next) => {
  if (!ctx.path.startsWith('/login/')) return next();
  const login = { accountId: 'alice' };
  ctx.respond = false;
  await provider.interactionFinished(ctx.req, ctx.res, { login }, { mergeWithLastSubmission: false });
});
provider.listen(Number(port), '127.0.0.1', () => console.log('listening'));
