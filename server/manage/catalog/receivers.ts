import { COMMIT, EACH_STATUS_ONCE, LINK, REASON, REPOSITORY } from '#model/hooks/presets/parts.ts'
import type { OutgoingHookBody } from '#model/hooks/schemas.ts'
import { field, steps } from './entry-parts.ts'
import {
  DISCORD_MESSAGE,
  GITEA_STATUS,
  GITHUB_DEPLOYMENT,
  GITHUB_STATUS,
  GITLAB_STATUS,
  SLACK_MESSAGE,
} from './presets.ts'
import type { Receiver } from './schemas.ts'

// In the order of docs/guides/receivers.md, whose sections a test writes and compares (UPDATE=1).

const TOKEN = '{{ application.source_provider.access_token }}'
const EACH_STATUS: OutgoingHookBody['trigger_when'] = { events: [...EACH_STATUS_ONCE] }
const CHAT: OutgoingHookBody['trigger_when'] = {
  events: ['action.started', 'action.completed', 'action.failed'],
}
const SIGN =
  "{% case action.status %}{% when 'completed' %}✅{% when 'failed' %}❌{% else %}⏳{% endcase %} {{ application.name | default: pipeline.name }}, {{ environment.name }}: {{ action.status_reason_human_readable }}"
/** Mattermost reads `<!channel>` like Slack, and mentions in every text. */
const PLAIN_MESSAGE =
  "{{ action.action_data.commit.message | truncate: 200 | replace: '@', '＠' | replace: '<', '＜' }}"
const MESSAGE = '{{ action.action_data.commit.message | truncate: 200 }}'

const NO_CREDENTIAL = { uses_access_token: false, credential_provider: null }

/** The URL is the key to the channel. */
const channelUrl = (example: string) => {
  const description =
    'The URL that the service shows. Everyone who has it can post there, so only people who may edit hooks see it later.'
  return field('webhook_url', 'Webhook URL', description, { required: true, example, hidden: true })
}

type ChannelParts = Pick<Receiver, 'description' | 'instructions'> & {
  hookName?: string
  /** Of its URL. */
  example: string
  request_body: Record<string, unknown>
  trigger_when?: OutgoingHookBody['trigger_when']
}

/** A channel that needs no credential. */
function channel(code: string, name: string, parts: ChannelParts): Receiver {
  const { description, instructions, hookName = name, example, request_body, trigger_when = CHAT } = parts
  return {
    code,
    name,
    description,
    ...NO_CREDENTIAL,
    instructions,
    fields: [channelUrl(example)],
    hook: { name: hookName, target_url: '<webhook_url>', settings: { request_body }, trigger_when },
  }
}

export const RECEIVERS: readonly Receiver[] = [
  GITHUB_STATUS,
  GITHUB_DEPLOYMENT,
  GITLAB_STATUS,
  {
    code: 'bitbucket_status',
    name: 'Bitbucket',
    description:
      'Shows each run as a build on its commit and in pull requests: in progress, then successful or failed. Canceled and skipped runs show as stopped. The newest run of a pipeline replaces the one before.',
    uses_access_token: true,
    credential_provider: null,
    instructions: steps(
      'Create an access token for the repository, the project or the workspace.',
      'Enter it in the credential of the application.',
    ),
    fields: [],
    hook: {
      name: 'Bitbucket build',
      target_url: `https://api.bitbucket.org/2.0/repositories/${REPOSITORY}/commit/${COMMIT}/statuses/build`,
      settings: {
        request_headers: [{ name: 'Authorization', value: `Bearer ${TOKEN}` }],
        request_body: {
          key: 'gantry-{{ pipeline.id }}',
          state:
            "{% case action.status %}{% when 'completed' %}SUCCESSFUL{% when 'failed' %}{% if action.status_reason_code == 'FAILED_CANCELLED' %}STOPPED{% else %}FAILED{% endif %}{% when 'skipped' %}STOPPED{% else %}INPROGRESS{% endcase %}",
          name: '{{ pipeline.name }} ({{ environment.name }})',
          description: REASON,
          url: LINK,
        },
      },
      trigger_when: EACH_STATUS,
    },
  },
  GITEA_STATUS,
  SLACK_MESSAGE,
  DISCORD_MESSAGE,
  channel('slack_webhook', 'Slack webhook', {
    description:
      'Posts a message when a run starts, completes or fails; it needs no credential. Remove the event action.started to hear only how runs end. The commit message is sent as plain text, so it cannot mention anyone.',
    instructions: steps(
      'Open api.slack.com/apps → the app → Incoming Webhooks → Add New Webhook.',
      'Select the channel, and copy the webhook URL.',
    ),
    example: 'https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX',
    hookName: 'Slack',
    request_body: {
      text: '{{ action.type_human_readable }}: {{ action.status_reason_human_readable }}',
      blocks: [
        { type: 'section', text: { type: 'plain_text', text: `${SIGN}\n${MESSAGE}` } },
        {
          type: 'section',
          text: { type: 'mrkdwn', text: '<{{ action.url_web_permalink }}|Action {{ action.id }}>' },
        },
      ],
    },
  }),
  channel('discord_webhook', 'Discord webhook', {
    description:
      'Posts a message when a run starts, completes or fails; it needs no credential. The message cannot mention anyone.',
    instructions: steps(
      'Open the channel → Edit → Integrations → Webhooks → New Webhook.',
      'Copy the webhook URL.',
    ),
    example: 'https://discord.com/api/webhooks/000000000000000000/the-rest-of-the-address',
    hookName: 'Discord',
    request_body: {
      username: 'Gantry',
      content: `${SIGN}\n${MESSAGE}\n<{{ action.url_web_permalink }}>`,
      allowed_mentions: { parse: [] },
    },
  }),
  channel('teams_message', 'Microsoft Teams', {
    description:
      'Posts a message to a channel when a run completes or fails. The commit message is shown as plain text.',
    instructions: steps(
      'Open the channel → Workflows → "Post to a channel when a webhook request is received".',
      'Copy the URL that it shows.',
    ),
    example:
      'https://prod-00.westeurope.logic.azure.com/workflows/0123456789/triggers/manual/paths/invoke?api-version=2016-06-01&sig=the-rest-of-the-address',
    request_body: { type: 'message', attachments: [adaptiveCard()] },
    trigger_when: { events: ['action.completed', 'action.failed'] },
  }),
  channel('mattermost_message', 'Mattermost', {
    description:
      'Posts a message to a channel when a run starts, completes or fails. In the commit message, @ and < are replaced by look-alikes, so it cannot mention anyone.',
    instructions: steps(
      'Open the product menu → Integrations → Incoming Webhooks → Add Incoming Webhook.',
      'Select the channel, save, and copy the URL.',
    ),
    example: 'https://mattermost.example.com/hooks/xxxxxxxxxxxxxxxxxxxxxxxxxx',
    request_body: {
      username: 'Gantry',
      text: `${SIGN}\n${PLAIN_MESSAGE}\n[Action {{ action.id }}]({{ action.url_web_permalink }})`,
    },
  }),
  {
    code: 'generic',
    name: 'Your own receiver',
    description:
      'Sends a request to your own service at every change of a run: when it is created, queued or waiting, when it starts, and when it completes, fails or is skipped. The body is {"event": {…}, "action": {…}}, with the action as GET /actions/{id} returns it, unless you write another one.',
    ...NO_CREDENTIAL,
    instructions: steps(
      'Give your service the secret <secret>, for example as an environment variable.',
      'Let it verify every request, with a library for Standard Webhooks or as the guide to receivers shows.',
    ),
    fields: [
      field('receiver_url', 'URL of the receiver', 'Where your service takes requests.', {
        required: true,
        example: 'https://deploys.example.com/gantry',
      }),
    ],
    hook: {
      name: 'Our own receiver',
      target_url: '<receiver_url>',
      trigger_when: { events: ['action.created', 'action.status_changed'] },
    },
  },
]

function adaptiveCard() {
  const line = (run: object) => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', ...run }] })
  return {
    contentType: 'application/vnd.microsoft.card.adaptive',
    content: {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      body: [
        line({
          weight: 'bolder',
          color: "{% if action.status == 'completed' %}good{% else %}attention{% endif %}",
          text: '{{ application.name | default: pipeline.name }}, {{ environment.name }}: {{ action.status_reason_human_readable }}',
        }),
        line({ text: `${MESSAGE} ` }),
      ],
      actions: [
        {
          type: 'Action.OpenUrl',
          title: 'Action {{ action.id }}',
          url: '{{ action.url_web_permalink }}',
        },
      ],
    },
  }
}
