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
  const description = 'The URL that the service shows. It is a key: only users with hook:edit see it later.'
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
      'Sets the build status: queued and in-progress become INPROGRESS, completed becomes SUCCESSFUL, failed becomes FAILED; canceled and skipped runs become STOPPED. A status with the same key replaces the previous one.',
    uses_access_token: true,
    credential_provider: null,
    instructions: steps(
      "Give the application's credential an access token of the repository, the project or the workspace.",
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
      'Without a credential: posts a message for each in-progress, completed and failed run; remove action.started to get final statuses only. The commit message is in a plain_text element, where Slack ignores markup, so it cannot mention the whole channel.',
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
      'Without a credential: posts a message for each in-progress, completed and failed run. The empty list parse keeps the text from mentioning anyone.',
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
      'Posts completed and failed runs to a channel. A TextRun shows its text without interpreting markup.',
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
      'Posts in-progress, completed and failed runs to a channel. In the commit message @ and < are replaced by their fullwidth forms, so it cannot mention anyone.',
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
      'Without a custom body, the hook sends the event itself: {"event": {…}, "action": {…}}, the action as GET /actions/{id} returns it. It reports every status change, starting with the creation: queued, in-progress, and completed, failed or skipped, with waiting in between if necessary.',
    ...NO_CREDENTIAL,
    instructions: steps(
      'Pass the secret <secret> to the receiver in its environment.',
      'Verify every request with a library for Standard Webhooks, or as the guide to receivers shows.',
    ),
    fields: [
      field('receiver_url', 'URL of the receiver', 'Where the receiver listens.', {
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
