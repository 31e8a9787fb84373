import { type OPTIONS, type PresetKind, providerOf } from '#model/hooks/presets/schema.ts'
import { type FieldParts, field, steps } from './entry-parts.ts'
import type { CatalogField, Receiver } from './schemas.ts'

// The receivers whose requests Gantry writes itself: the code is the kind of the preset.

const option: (name: (typeof OPTIONS)[PresetKind][number], ...rest: FieldParts) => CatalogField = field

const CONTEXT = 'The name of the status; without one, gantry/<environment>/<pipeline>.'
const context = option('context', 'Context', CONTEXT, { example: 'deploy/production' })

type Parts = Pick<Receiver, 'name' | 'description' | 'instructions' | 'fields'> & { hookName: string }

function preset(kind: PresetKind, { hookName, ...entry }: Parts): Receiver {
  const options = Object.fromEntries(entry.fields.map(({ name }) => [name, `<${name}>`]))
  return {
    code: kind,
    ...entry,
    uses_access_token: true,
    credential_provider: providerOf(kind),
    hook: { name: hookName, settings: { preset: { kind, ...options } } },
  }
}

export const GITHUB_STATUS = preset('github_status', {
  name: 'GitHub',
  hookName: 'GitHub status',
  description:
    'Sets the commit status: queued and in-progress become pending, completed becomes success, failed becomes failure if a step failed and error otherwise, and skipped becomes error.',
  instructions: steps(
    'Create a token that may write commit statuses (fine-grained: Commit statuses, read and write; classic: repo:status).',
    "Make it the token of the application's credential, or of a dedicated credential.",
  ),
  fields: [context],
})

export const GITHUB_DEPLOYMENT = preset('github_deployment', {
  name: 'GitHub Deployments',
  hookName: 'GitHub deployment',
  description:
    'Creates a deployment per run and sets its status: queued, in_progress, success, failure if a step failed and error otherwise, inactive for skipped runs. A success makes the earlier deployments of the environment inactive, unless GitHub treats it as production.',
  instructions: steps(
    'Create a token that may write deployments (fine-grained: Deployments, read and write; classic: repo_deployment).',
    "Make it the token of the application's credential, or of a dedicated credential.",
  ),
  fields: [
    option('environment', 'Environment at GitHub', 'Without one, the name of the environment.', {
      example: 'production',
    }),
    option(
      'environment_url',
      'URL of the application',
      'Where the deployed application can be opened; GitHub shows it as a button.',
      { example: 'https://shop.example.com' },
    ),
  ],
})

export const GITLAB_STATUS = preset('gitlab_status', {
  name: 'GitLab',
  hookName: 'GitLab status',
  description:
    'Sets the commit status: queued becomes pending, in-progress becomes running, completed becomes success and failed stays failed; canceled and skipped runs become canceled.',
  instructions: steps(
    'Create a token with the api scope and at least the Developer role.',
    "Make it the token of the application's credential, or of a dedicated credential. For a self-managed GitLab, set its URL there.",
  ),
  fields: [
    context,
    option(
      'project',
      'Project',
      "The path or numeric id of the project; without one, that of the application's repository.",
      { example: 'acme/shop' },
    ),
  ],
})

export const GITEA_STATUS = preset('gitea_status', {
  name: 'Gitea and Forgejo',
  hookName: 'Gitea status',
  description: "Sets the commit status, with GitHub's states: pending, success, failure, error.",
  instructions: steps(
    'Create a token with write:repository.',
    "Make it the token of the application's credential, or of a dedicated credential, with the URL of the service.",
  ),
  fields: [context],
})

export const SLACK_MESSAGE = preset('slack_message', {
  name: 'Slack',
  hookName: 'Slack',
  description:
    'Posts one message per run to a channel and updates it until the run ends: who, what, duration, link, and a color for the result. Texts of others cannot mention anyone.',
  instructions: steps(
    'Open api.slack.com/apps → Create New App → OAuth & Permissions, and add the bot scope chat:write.',
    'Install the app, and add a credential of Slack with its bot token (xoxb-…).',
    'Invite the app to the channel: /invite @app.',
  ),
  fields: [
    option('channel', 'Channel', 'The name or the id of the channel.', {
      required: true,
      example: '#deploys',
    }),
  ],
})

export const DISCORD_MESSAGE = preset('discord_message', {
  name: 'Discord',
  hookName: 'Discord',
  description:
    'Posts one message per run to a channel and edits it until the run ends: who, what, duration, link, and a color for the result. Texts of others cannot mention anyone.',
  instructions: steps(
    'Open discord.com/developers → New Application → Bot, and copy its token.',
    'Add the bot to the server, with the permissions View Channel, Send Messages and Embed Links.',
    'Add a credential of Discord with the token.',
  ),
  fields: [
    option(
      'channel',
      'Channel',
      'The numeric id of the channel: with developer mode on, right-click it → Copy Channel ID.',
      { required: true, example: '1234567890123456789' },
    ),
  ],
})
