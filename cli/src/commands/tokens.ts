import { examples, type Register, run } from '../command.ts'
import { usage } from '../failure.ts'
import { printTable } from '../table.ts'
import { ago } from '../times.ts'
import { collect } from '../walk.ts'

const SCOPES = ['read', 'run', 'hooks', 'manage', 'approve'] as const
type Scope = (typeof SCOPES)[number]
const DEFAULT_DAYS = 90
const MAX_DAYS = 3_650
type CreateOptions = { scope?: string[]; days?: string; json?: true }

export const tokens: Register = (program) => {
  const group = program.command('tokens').description('personal access tokens, for scripts and CI')
  group
    .command('ls')
    .description('list your tokens')
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, { json }: { json?: true }) => {
        const { gantry } = await connect()
        const rows = await collect(gantry.list('/users/personal-access-tokens'))
        if (json) return screen.json(rows)
        const time = (text: string | null) => (screen.isTerminal ? ago(text) : (text ?? ''))
        printTable(
          screen,
          rows,
          [
            { title: 'name', text: ({ name }) => name },
            { title: 'id', text: ({ id }) => `#${id}` },
            { title: 'scopes', text: ({ scopes }) => scopes?.join(', ') ?? 'all' },
            { title: 'last used', text: ({ last_used_at }) => (last_used_at ? time(last_used_at) : 'never') },
            { title: 'expires', text: ({ expires_at }) => expires_at?.slice(0, 10) ?? 'never' },
          ],
          'No tokens.',
        )
      }),
    )
  const create = group
    .command('create')
    .description('create a token; it is printed once')
    .argument('<name>', 'what it is for')
    .option('--scope <scope...>', `what it may be used for: ${SCOPES.join(', ')}; by default everything`)
    .option(
      '--days <number>',
      'for how long it is valid; by default 90, and never longer than the token you are signed in with',
    )
    .option('--json', 'print JSON')
    .action(
      run(async ({ connect, screen }, name: string, { scope, days, json }: CreateOptions) => {
        const asked = days === undefined ? null : parseDays(days)
        const scopes = parseScopes(scope)
        const { gantry, expiresAt } = await connect()
        const body = { name, scopes, expires_at: asked ?? earlier(inDays(DEFAULT_DAYS), expiresAt) }
        const token = await gantry.post('/users/personal-access-tokens', { body })
        if (json) return screen.json(token)
        screen.print(token.token)
        screen.note(`Copy it now; it won't be shown again. It expires on ${token.expires_at?.slice(0, 10)}.`)
      }),
    )
  examples(create, ['gantry tokens create ci --scope read run', 'for a CI job that deploys'])
  group
    .command('revoke')
    .description('revoke a token; it stops working immediately')
    .argument('<token>', "its name, or its id as '#7'")
    .action(
      run(async ({ connect, screen }, given: string) => {
        const { gantry } = await connect()
        const all = await collect(gantry.list('/users/personal-access-tokens'))
        const found = all.filter(
          ({ id, name }) => name === given || `#${id}` === given || String(id) === given,
        )
        if (found.length !== 1)
          throw usage(
            found.length === 0
              ? `You have no token "${given}".`
              : `You have ${found.length} tokens named "${given}".`,
            `Tokens: ${(found.length > 0 ? found : all).map(({ id, name }) => `${name} (#${id})`).join(', ') || 'none'}`,
          )
        await gantry.delete('/users/personal-access-tokens/{id}', { params: { path: { id: found[0]!.id } } })
        screen.note(`"${found[0]!.name}" is revoked.`)
      }),
    )
}

function parseScopes(given: string[] | undefined): Scope[] | null {
  if (!given) return null
  const wrong = given.find((scope) => !SCOPES.includes(scope as Scope))
  if (wrong) throw usage(`There is no scope "${wrong}".`, `Scopes: ${SCOPES.join(', ')}.`)
  return given as Scope[]
}

function parseDays(given: string): string {
  const days = Number(given)
  if (!Number.isInteger(days) || days < 1 || days > MAX_DAYS)
    throw usage(`--days takes a whole number up to ${MAX_DAYS}, not "${given}".`)
  return inDays(days)
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

const earlier = (one: string, other: string | null) =>
  other !== null && Date.parse(other) < Date.parse(one) ? other : one
