import { type OPTIONS, type PresetKind, providerOf } from '#model/hooks/presets/schema.ts'
import { type FieldParts, field, steps } from './entry-parts.ts'
import type { CatalogField, Receiver } from './schemas.ts'

// The receivers whose requests Gantry writes itself: the code is the kind of the preset.

const option: (name: (typeof OPTIONS)[PresetKind][number], ...rest: FieldParts) => CatalogField = field

const CONTEXT = 'The name that the status has on the commit. Left empty: gantry/<environment>/<pipeline>.'
const context = option('context', 'Name of the status', CONTEXT, { example: 'deploy/production' })

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
    'Shows each run as a status on its commit and in pull requests: pending while it waits and runs, then success or failure. A run that was canceled, skipped or could not run shows as error.',
  instructions: steps(
    'Create a token that may write commit statuses (fine-grained: Commit statuses, read and write; classic: repo:status).',
    'Add it to Gantry as a credential, or use the credential of the application if its token may do that.',
  ),
  fields: [context],
})

export const GITHUB_DEPLOYMENT = preset('github_deployment', {
  name: 'GitHub Deployments',
  hookName: 'GitHub deployment',
  description:
    'Shows each run as a deployment, on the Deployments page of the repository and in pull requests: queued, in progress, then success or failure. A skipped run shows as inactive. When a run succeeds, GitHub marks the earlier deployments of the environment as inactive, unless it treats the environment as production.',
  instructions: steps(
    'Create a token that may write deployments (fine-grained: Deployments, read and write; classic: repo_deployment).',
    'Add it to Gantry as a credential, or use the credential of the application if its token may do that.',
  ),
  fields: [
    option(
      'environment',
      'Environment at GitHub',
      'The environment that GitHub shows. Left empty: the name of the environment in Gantry.',
      {
        example: 'production',
      },
    ),
    option(
      'environment_url',
      'URL of the application',
      'Where people open the application. GitHub shows a button for it.',
      { example: 'https://shop.example.com' },
    ),
  ],
})

export const GITLAB_STATUS = preset('gitlab_status', {
  name: 'GitLab',
  hookName: 'GitLab status',
  description:
    'Shows each run as a status on its commit and in merge requests: pending, running, then success or failed. Canceled and skipped runs show as canceled.',
  instructions: steps(
    'Create a token with the scope api and at least the role Developer.',
    'Add it to Gantry as a credential, or use the credential of the application if its token may do that. If you run GitLab yourself, set its URL there.',
  ),
  fields: [
    context,
    option(
      'project',
      'Project',
      "The path or the number of the project. Left empty: the project of the application's repository.",
      { example: 'acme/shop' },
    ),
  ],
})

export const GITEA_STATUS = preset('gitea_status', {
  name: 'Gitea and Forgejo',
  hookName: 'Gitea status',
  description:
    'Shows each run as a status on its commit and in pull requests: pending while it waits and runs, then success or failure. A run that was canceled, skipped or could not run shows as error.',
  instructions: steps(
    'Create a token with the permission write:repository.',
    'Add it to Gantry as a credential, with the URL of the service, or use the credential of the application if its token may do that.',
  ),
  fields: [context],
})

export const SLACK_MESSAGE = preset('slack_message', {
  name: 'Slack',
  hookName: 'Slack',
  description:
    'Posts one message for each run to a channel, and updates it until the run ends. It says what was deployed, who started it and how long it took, and links to the run. Names and commit messages in it cannot mention anyone.',
  instructions: steps(
    'Open api.slack.com/apps → Create New App → OAuth & Permissions, and add chat:write to the bot token scopes.',
    'Install the app to your workspace, copy its bot token (xoxb-…), and add it to Gantry as a credential.',
    'In the channel, type /invite and the name of the app.',
  ),
  fields: [
    option('channel', 'Channel', 'The name or the ID of the channel.', {
      required: true,
      example: '#deploys',
    }),
  ],
})

export const DISCORD_MESSAGE = preset('discord_message', {
  name: 'Discord',
  hookName: 'Discord',
  description:
    'Posts one message for each run to a channel, and updates it until the run ends. It says what was deployed, who started it and how long it took, and links to the run. Names and commit messages in it cannot mention anyone.',
  instructions: steps(
    'Open discord.com/developers → New Application → Bot, and copy its token.',
    'Add the bot to the server, with the permissions View Channel, Send Messages and Embed Links.',
    'Add the token to Gantry as a credential.',
  ),
  fields: [
    option(
      'channel',
      'Channel',
      'The ID of the channel, a long number: in Discord, turn on developer mode, right-click the channel and choose Copy Channel ID.',
      { required: true, example: '1234567890123456789' },
    ),
  ],
})
