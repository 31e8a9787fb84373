// The answers to the questions of `gantry init` → a gantry.yaml. Pure.
import { stringify } from 'yaml'
import type { Commands } from './detect-commands.ts'
import { parseOrigin } from './git.ts'

export type Server = { kind: 'local' } | { kind: 'ssh'; login: string; host: string; port: number }

export type Answers = {
  organization: string
  project: string
  environment: string
  application: string
  repository: string
  branch: string
  isPrivate: boolean
  server: Server
  root: string
  /** The hook of the sender, as the catalog has it: its name and the rest. */
  hook: { name: string; [field: string]: unknown } | null
  commands: Commands
}

const PROVIDERS: Record<string, { name: string; provider_code: string; token: string }> = {
  'github.com': { name: 'GitHub', provider_code: 'github', token: 'GITHUB_TOKEN' },
  'gitlab.com': { name: 'GitLab', provider_code: 'gitlab', token: 'GITLAB_TOKEN' },
  'bitbucket.org': { name: 'Bitbucket', provider_code: 'bitbucket', token: 'BITBUCKET_TOKEN' },
}

export function buildDocument(answers: Answers, instance: string): string {
  const { server, root, hook, branch } = answers
  const source = sourceCredential(answers)
  const isRemote = server.kind === 'ssh'
  const serverName = isRemote ? server.host : 'local'
  const credentials = {
    ...(source && { [source.name]: source.entry }),
    ...(isRemote && { Servers: { provider_code: 'ssh', generate: true } }),
  }
  const document = {
    organization: answers.organization,
    project: { name: answers.project },
    ...(Object.keys(credentials).length > 0 && { credentials }),
    environments: {
      [answers.environment]: {
        type: typeOf(answers.environment),
        servers: {
          [serverName]: isRemote
            ? {
                provider_code: 'ssh',
                host: server.host,
                ...(server.port !== 22 && { port: server.port }),
                login_name: server.login,
                credential: 'Servers',
                root_directory: root,
              }
            : { provider_code: 'local', root_directory: root },
        },
        applications: {
          [answers.application]: {
            repository: answers.repository,
            ...(source && { credential: source.name }),
            default_branch: branch,
            ...answers.commands,
            servers: [serverName],
            pipelines: {
              Deploy: { operation: 'deploy', ...(hook && { hooks: { incoming: entryOf(hook) } }) },
            },
          },
        },
      },
    },
  }
  return `${headerFor(instance)}${stringify(document, { lineWidth: 0 })}`
}

/** Guessed from the name; easily changed in the file. */
function typeOf(environment: string): string {
  if (/dev|test/i.test(environment)) return 'development'
  return /stag|preview|qa/i.test(environment) ? 'staging' : 'production'
}

const headerFor = (instance: string) =>
  `# yaml-language-server: $schema=${instance}/gantry.schema.json
# Apply it with \`gantry apply\`, whenever it changes. Steps, variables and more: the schema describes every field.

`

function entryOf({ name, ...hook }: NonNullable<Answers['hook']>) {
  return { [name]: hook }
}

/** A key for SSH addresses, a token for private repositories; nothing for public ones. */
function sourceCredential({ repository, isPrivate }: Answers) {
  const { isSsh, host } = parseOrigin(repository)
  if (isSsh) return { name: 'Deploy key', entry: { provider_code: 'ssh', generate: true } }
  if (!isPrivate || host === null) return null
  const known = PROVIDERS[host]
  if (known)
    return {
      name: known.name,
      entry: { provider_code: known.provider_code, token: `\${${known.token}}` },
    }
  return {
    name: host,
    entry: { provider_code: 'git', base_url: new URL(repository).origin, token: `\${GIT_TOKEN}` },
  }
}
