import { hostname } from 'node:os'
import { isCancel, password } from '@clack/prompts'
import type { Data } from '@gantry/client'
import { awaitApproval } from '../browser-login.ts'
import type { Cli } from '../cli.ts'
import { examples, type Register, run } from '../command.ts'
import { configFolder, readConfig, writeConfig } from '../config.ts'
import { chooseTarget, clientFor, isToken, normalizeUrl } from '../connection.ts'
import { awaitDevice } from '../device-login.ts'
import { EXIT } from '../exit-codes.ts'
import { Failure, Interrupted, toFailure, usage } from '../failure.ts'
import { hasBrowser, openBrowser } from '../open-browser.ts'
import { plain } from '../screen.ts'
import { readInput } from '../stdin.ts'

type Options = { device?: true; withToken?: true; name?: string }

export const login: Register = (program) => {
  const command = program
    .command('login')
    .description('sign in to an instance, in the browser or with a token')
    .argument('[url]', 'the address of the instance; by default the current one')
    .option('--device', 'show a code to enter in a browser on another machine')
    .option('--with-token', 'read a personal access token from stdin')
    .option('--name <context>', 'what to call this instance; by default its host name')
    .action(
      run(async (cli, given: string | undefined, { device, withToken, name }: Options) => {
        const folder = configFolder(cli.env)
        const config = await readConfig(folder)
        const url = given ? normalizeUrl(given) : chooseTarget(config, cli.env, cli.context).url
        await checkIsGantry(url)
        const signIn = withToken ? withTokenFor : device || !hasBrowser(cli.env) ? elsewhere : inBrowser
        const signedIn = await signIn(cli, url)
        const context = name ?? cli.context ?? nameFor(url)
        const { token, user, expires_at } = signedIn
        const contexts = { ...config.contexts, [context]: { url, token, user: user.email, expires_at } }
        await writeConfig(folder, { current: context, contexts })
        cli.screen.note(`Signed in to ${url} as ${plain(user.email)}.`)
        if (cli.env.GANTRY_TOKEN || (cli.env.GANTRY_URL && normalizeUrl(cli.env.GANTRY_URL) !== url))
          cli.screen.note(
            'GANTRY_URL or GANTRY_TOKEN is set in this shell and is used instead, until you unset it.',
          )
      }),
    )
  examples(
    command,
    ['gantry login https://gantry.example.com', 'approve in the browser'],
    ['gantry login --device', 'approve on another machine; the default where there is no browser'],
    ['gantry login --with-token < token.txt', 'in scripts'],
  )
}

export const logout: Register = (program) => {
  program
    .command('logout')
    .description('revoke the token of the current context and forget it')
    .action(
      run(async (cli) => {
        const folder = configFolder(cli.env)
        const config = await readConfig(folder)
        const name = cli.context ?? config.current
        const context = name === null ? undefined : config.contexts[name]
        if (!name || !context)
          throw usage('You are not signed in.', '`gantry context ls` lists what you are signed in to.')
        const problem = await revoke(context)
        const { [name]: _, ...others } = config.contexts
        const current = config.current === name ? (Object.keys(others)[0] ?? null) : config.current
        await writeConfig(folder, { current, contexts: others })
        cli.screen.note(`Signed out of ${context.url}.`)
        if (problem) cli.screen.note(`The token is forgotten here, but may still be valid: ${problem}`)
      }),
    )
}

async function revoke(context: { url: string; token: string }): Promise<string | null> {
  try {
    await clientFor(context).post('/users/logout')
    return null
  } catch (error) {
    const { exit, message } = toFailure(error)
    // A token that is no longer accepted is as good as revoked.
    return exit === EXIT.notAllowed ? null : message
  }
}

type SignedIn = { token: string; user: { email: string }; expires_at: string | null }

async function inBrowser({ env, screen, signal }: Cli, url: string): Promise<SignedIn> {
  const approval = await awaitApproval(url, hostname(), {
    signal,
    async onReady(address) {
      const isOpen = await openBrowser(env, address)
      screen.note(
        isOpen
          ? 'Approve in the browser window that has opened, or open this address:'
          : 'Open this address in a browser on this machine, or run `gantry login --device`:',
      )
      screen.note(`  ${address}`)
    },
  })
  return clientFor({ url, token: null }).post('/session/authorizations/token', { body: approval })
}

function elsewhere({ screen, signal }: Cli, url: string): Promise<SignedIn> {
  return awaitDevice(clientFor({ url, token: null }), hostname(), {
    signal,
    onReady({ verification_url, user_code }) {
      screen.note(`Open this page in a browser on any machine: ${plain(verification_url)}`)
      screen.note(`Sign in there, and enter this code: ${plain(user_code)}`)
    },
  })
}

async function withTokenFor({ screen }: Cli, url: string): Promise<SignedIn> {
  const token = screen.isInteractive ? await askForToken(url) : (await readInput()).trim()
  if (!isToken(token))
    throw usage('There is no token on stdin.', 'For example: gantry login --with-token < token.txt')
  const gantry = clientFor({ url, token })
  const user: Data<'get', '/users/me'> = await gantry.get('/users/me')
  return { token, user, expires_at: null }
}

async function askForToken(url: string): Promise<string> {
  const given = await password({ message: `Paste a personal access token (${url}/app/account)` })
  if (isCancel(given)) throw new Interrupted()
  return given.trim()
}

/** So that a password manager's wiki page at the address does not end as "unauthenticated". */
async function checkIsGantry(url: string): Promise<void> {
  const { name } = await clientFor({ url, token: null })
    .get('/')
    .catch((error: unknown) => {
      throw toFailure(error).exit === EXIT.unreachable ? error : notGantry(url)
    })
  if (name !== 'Gantry') throw notGantry(url)
}

const notGantry = (url: string) =>
  new Failure(`Not a Gantry server: ${url}`, {
    exit: EXIT.unreachable,
    hint: 'Check the address.',
  })

const nameFor = (url: string) => {
  const { host, pathname } = new URL(url)
  return `${host}${pathname === '/' ? '' : pathname}`
}
