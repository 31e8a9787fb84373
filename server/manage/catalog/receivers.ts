import type { OutgoingHookBody } from '#model/hooks/schemas.ts'
import { steps } from './entry-parts.ts'
import type { CatalogField, Receiver } from './schemas.ts'

// In the order of docs/guides/receivers.md, whose sections a test writes and compares (UPDATE=1).

const COMMIT =
  '{{ action.triggered_from.hook_parsed_variables.commit | default: action.action_data.commit.hash }}'
const REPOSITORY = '{{ application.repository_owner }}/{{ application.repository_name }}'
const CONTEXT = 'gantry/{{ environment.name }}/{{ pipeline.name }}'
const TOKEN = '{{ application.source_provider.access_token }}'
const ABOUT = {
  description: '{{ action.status_reason_human_readable }}',
  target_url: '{{ action.url_web_permalink }}',
}
/** Each happens at most once per action, so a receiver never gets the same status twice. */
const EACH_STATUS_ONCE: OutgoingHookBody['trigger_when'] = {
  events: ['action.created', 'action.started', 'action.completed', 'action.failed', 'action.skipped'],
}
const CHAT: OutgoingHookBody['trigger_when'] = {
  events: ['action.started', 'action.completed', 'action.failed'],
}
const GITHUB_STATE =
  "{% case action.status %}{% when 'completed' %}success{% when 'failed' %}{% if action.status_reason_code == 'FAILED' %}failure{% else %}error{% endif %}{% when 'skipped' %}error{% else %}pending{% endcase %}"
const SIGN =
  "{% case action.status %}{% when 'completed' %}✅{% when 'failed' %}❌{% else %}⏳{% endcase %} {{ application.name | default: pipeline.name }}, {{ environment.name }}: {{ action.status_reason_human_readable }}"
/** Mattermost reads `<!channel>` like Slack, and mentions in every text. */
const PLAIN_MESSAGE =
  "{{ action.action_data.commit.message | truncate: 200 | replace: '@', '＠' | replace: '<', '＜' }}"
const MESSAGE = '{{ action.action_data.commit.message | truncate: 200 }}'

const baseUrl = (more: Partial<CatalogField>): CatalogField => ({
  name: 'base_url',
  label: 'URL of the service',
  description:
    'Without a slash at the end. A host in a private network must be allowed by GANTRY_ALLOW_TARGETS.',
  required: true,
  default_value: null,
  example: null,
  hidden: false,
  ...more,
})

/** The URL is the key to the channel. */
const channelUrl = (example: string): CatalogField => ({
  name: 'webhook_url',
  label: 'Webhook URL',
  description: 'The URL that the service shows. It is a key: only users with hook:edit see it later.',
  required: true,
  default_value: null,
  example,
  hidden: true,
})

export const RECEIVERS: readonly Receiver[] = [
  {
    code: 'github_status',
    name: 'GitHub',
    description:
      'Sets the commit status: queued and in-progress become pending, completed becomes success, failed becomes failure if a step failed and error otherwise, and skipped becomes error.',
    uses_access_token: true,
    instructions: steps(
      "Give the application's credential a token that may write commit statuses (fine-grained: Commit statuses, read and write; classic: repo:status).",
    ),
    fields: [],
    hook: {
      name: 'GitHub status',
      target_url: `https://api.github.com/repos/${REPOSITORY}/statuses/${COMMIT}`,
      settings: {
        request_headers: [
          { name: 'Authorization', value: `Bearer ${TOKEN}` },
          { name: 'Accept', value: 'application/vnd.github+json' },
          { name: 'X-GitHub-Api-Version', value: '2022-11-28' },
        ],
        request_body: { state: GITHUB_STATE, context: CONTEXT, ...ABOUT },
      },
      trigger_when: EACH_STATUS_ONCE,
    },
  },
  {
    code: 'gitlab_status',
    name: 'GitLab',
    description:
      'Sets the commit status: queued becomes pending, in-progress becomes running, completed becomes success and failed stays failed; canceled and skipped runs become canceled. GitLab rejects pending if the status already is pending: that is why this hook does not list action.status_changed.',
    uses_access_token: true,
    instructions: steps(
      "Give the application's credential a token with the api scope and at least the Developer role.",
    ),
    fields: [
      baseUrl({ default_value: 'https://gitlab.com' }),
      {
        name: 'project',
        label: 'Project',
        description: 'The path of the project, with each slash as %2F, or its numeric id.',
        required: true,
        default_value: null,
        example: 'acme%2Fshop',
        hidden: false,
      },
    ],
    hook: {
      name: 'GitLab status',
      target_url: `<base_url>/api/v4/projects/<project>/statuses/${COMMIT}`,
      settings: {
        request_headers: [{ name: 'PRIVATE-TOKEN', value: TOKEN }],
        request_body: {
          state:
            "{% case action.status %}{% when 'in-progress' %}running{% when 'completed' %}success{% when 'failed' %}{% if action.status_reason_code == 'FAILED_CANCELLED' %}canceled{% else %}failed{% endif %}{% when 'skipped' %}canceled{% else %}pending{% endcase %}",
          name: CONTEXT,
          ...ABOUT,
        },
      },
      trigger_when: EACH_STATUS_ONCE,
    },
  },
  {
    code: 'bitbucket_status',
    name: 'Bitbucket',
    description:
      'Sets the build status: queued and in-progress become INPROGRESS, completed becomes SUCCESSFUL, failed becomes FAILED; canceled and skipped runs become STOPPED. A status with the same key replaces the previous one.',
    uses_access_token: true,
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
          description: ABOUT.description,
          url: ABOUT.target_url,
        },
      },
      trigger_when: EACH_STATUS_ONCE,
    },
  },
  {
    code: 'gitea_status',
    name: 'Gitea and Forgejo',
    description: "Sets the commit status, with GitHub's states: pending, success, failure, error.",
    uses_access_token: true,
    instructions: steps("Give the application's credential a token with write:repository."),
    fields: [baseUrl({ example: 'https://git.example.com' })],
    hook: {
      name: 'Gitea status',
      target_url: `<base_url>/api/v1/repos/${REPOSITORY}/statuses/${COMMIT}`,
      settings: {
        request_headers: [{ name: 'Authorization', value: `token ${TOKEN}` }],
        request_body: { state: GITHUB_STATE, context: CONTEXT, ...ABOUT },
      },
      trigger_when: EACH_STATUS_ONCE,
    },
  },
  {
    code: 'slack_message',
    name: 'Slack',
    description:
      'Posts in-progress, completed and failed runs to a channel; remove action.started to get final statuses only. The commit message is in a plain_text element, where Slack ignores markup, so it cannot mention the whole channel.',
    uses_access_token: false,
    instructions: steps(
      'Open api.slack.com/apps → the app → Incoming Webhooks → Add New Webhook.',
      'Select the channel, and copy the webhook URL.',
    ),
    fields: [channelUrl('https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX')],
    hook: {
      name: 'Slack',
      target_url: '<webhook_url>',
      settings: {
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
      },
      trigger_when: CHAT,
    },
  },
  {
    code: 'discord_message',
    name: 'Discord',
    description:
      'Posts in-progress, completed and failed runs to a channel. The empty list parse keeps the text from mentioning anyone.',
    uses_access_token: false,
    instructions: steps(
      'Open the channel → Edit → Integrations → Webhooks → New Webhook.',
      'Copy the webhook URL.',
    ),
    fields: [channelUrl('https://discord.com/api/webhooks/000000000000000000/the-rest-of-the-address')],
    hook: {
      name: 'Discord',
      target_url: '<webhook_url>',
      settings: {
        request_body: {
          username: 'Gantry',
          content: `${SIGN}\n${MESSAGE}\n<{{ action.url_web_permalink }}>`,
          allowed_mentions: { parse: [] },
        },
      },
      trigger_when: CHAT,
    },
  },
  {
    code: 'teams_message',
    name: 'Microsoft Teams',
    description:
      'Posts completed and failed runs to a channel. A TextRun shows its text without interpreting markup.',
    uses_access_token: false,
    instructions: steps(
      'Open the channel → Workflows → "Post to a channel when a webhook request is received".',
      'Copy the URL that it shows.',
    ),
    fields: [
      channelUrl(
        'https://prod-00.westeurope.logic.azure.com/workflows/0123456789/triggers/manual/paths/invoke?api-version=2016-06-01&sig=the-rest-of-the-address',
      ),
    ],
    hook: {
      name: 'Microsoft Teams',
      target_url: '<webhook_url>',
      settings: { request_body: { type: 'message', attachments: [adaptiveCard()] } },
      trigger_when: { events: ['action.completed', 'action.failed'] },
    },
  },
  {
    code: 'mattermost_message',
    name: 'Mattermost',
    description:
      'Posts in-progress, completed and failed runs to a channel. In the commit message @ and < are replaced by their fullwidth forms, so it cannot mention anyone.',
    uses_access_token: false,
    instructions: steps(
      'Open the product menu → Integrations → Incoming Webhooks → Add Incoming Webhook.',
      'Select the channel, save, and copy the URL.',
    ),
    fields: [channelUrl('https://mattermost.example.com/hooks/xxxxxxxxxxxxxxxxxxxxxxxxxx')],
    hook: {
      name: 'Mattermost',
      target_url: '<webhook_url>',
      settings: {
        request_body: {
          username: 'Gantry',
          text: `${SIGN}\n${PLAIN_MESSAGE}\n[Action {{ action.id }}]({{ action.url_web_permalink }})`,
        },
      },
      trigger_when: CHAT,
    },
  },
  {
    code: 'generic',
    name: 'Your own receiver',
    description:
      'Without a body of its own, the hook sends the event itself: {"event": {…}, "action": {…}}, the action as GET /actions/{id} returns it. It reports every status change, starting with the creation: queued, in-progress, and completed, failed or skipped, with waiting in between if necessary.',
    uses_access_token: false,
    instructions: steps(
      'Pass the secret <secret> to the receiver in its environment.',
      'Verify every request with a library for Standard Webhooks, or as the guide to receivers shows.',
    ),
    fields: [
      {
        name: 'receiver_url',
        label: 'URL of the receiver',
        description: 'Where the receiver listens.',
        required: true,
        default_value: null,
        example: 'https://deploys.example.com/gantry',
        hidden: false,
      },
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
