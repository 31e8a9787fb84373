import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['credentials', 'hooks', 'pipelines', 'applications']

// Where the token of a credential may be sent, and which other names the host of its repositories has. Presets that report on
// commits send only if the repository is at the host of the credential: those that exist keep working, because the hosts of
// their repositories become such names.
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
  const { rows } = await sql<Row>`
    select distinct c.id, c.provider_code, c.base_url, a.repository, s.provider_code as source_code,
      s.base_url as source_url
    from hooks h join pipelines p on p.id = h.pipeline_id join applications a on a.id = p.application_id
    left join credentials s on s.id = a.credential_id
    join credentials c on c.id = coalesce(h.credential_id, a.credential_id)
    where h.type = 'outgoing' and h.deleted_at is null and c.deleted_at is null
      and h.settings -> 'preset' ->> 'kind' in ('github_status', 'github_deployment', 'gitlab_status', 'gitea_status')
      and h.settings -> 'preset' ->> 'project' is null
      and c.provider_code in ('github', 'gitlab', 'gitea')
    order by c.id, a.repository`.execute(db)
  for (const [id, hosts] of otherHosts(rows))
    await sql`update credentials set ssh_hosts = ${[...hosts]}::text[] where id = ${id}`.execute(db)
}

const statements: string[] = [
  `alter table credentials
    add column token_targets text not null default 'anywhere'
      constraint credentials_token_targets check (token_targets in ('anywhere', 'provider')),
    add column ssh_hosts text[] not null default '{}'`,
]

type Row = {
  id: number
  provider_code: string
  base_url: string | null
  repository: string
  source_code: string | null
  source_url: string | null
}

const PUBLIC: Record<string, string> = { github: 'https://github.com', gitlab: 'https://gitlab.com' }
const ALIASES: Record<string, string> = { 'ssh.github.com': 'github.com', 'altssh.gitlab.com': 'gitlab.com' }

/** Those that are not the host of the credential, by its id. */
function otherHosts(rows: readonly Row[]): Map<number, Set<string>> {
  const found = new Map<number, Set<string>>()
  for (const { id, provider_code, base_url, ...source } of rows) {
    const host = hostOf(source)
    const home = URL.parse(base_url ?? PUBLIC[provider_code] ?? '')
    const names = [home?.host, home?.hostname].map((name) => name?.replace(/^api\./, ''))
    if (host === undefined || names.includes(ALIASES[host] ?? host)) continue
    found.set(id, (found.get(id) ?? new Set()).add(host))
  }
  return found
}

/** Of an address with a protocol, one like `git@host:path`, or `acme/shop`, which is at the credential of the application. */
function hostOf({ repository, source_code, source_url }: Omit<Row, 'id' | 'provider_code' | 'base_url'>) {
  const text = repository.trim()
  const web = /^https?:/i.test(text) ? URL.parse(text)?.host : undefined
  const ssh =
    /^ssh:\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^:/]+)/i.exec(text) ??
    /^(?:[^@/:]*@)?(\[[^\]]+\]|[^/:[\]]+):(?!\/\/)/.exec(text)
  const base = text.includes(':') ? undefined : URL.parse(source_url ?? PUBLIC[source_code ?? ''] ?? '')?.host
  const host = web ?? ssh?.[1] ?? base
  return host?.toLowerCase().replace(/\.(?=$|:)/, '') || undefined
}
