import { discordAgent, LINK, type PresetRequests, REASON_AND_ASKED } from './parts.ts'
import type { Preset } from './schema.ts'

// What a message about a run says: who, what, for how long, and where to look. Texts of others are plain.

const HEADLINE = `{% case action.status %}{% when 'completed' %}✅{% when 'failed' %}❌{% when 'skipped' %}⏭️{% when 'in-progress' %}⏳{% else %}🕒{% endcase %} {{ application.name | default: pipeline.name }}, {{ environment.name }}: ${REASON_AND_ASKED}`
const PIPELINE = '{{ pipeline.name }}'
const STARTED_BY = '{{ action.triggered_from.name | default: action.triggered_from.trigger_type }}'

const HASH =
  '{{ action.action_data.commit.hash | default: action.triggered_from.hook_parsed_variables.commit | slice: 0, 10 }}'
const COMMIT_LINE = `{% if action.action_data.commit.hash or action.triggered_from.hook_parsed_variables.commit %}${HASH} {{ action.action_data.commit.message | truncate: 200 }}{% else %}–{% endif %}`

const DURATION =
  "{% if action.started_at and action.completed_at %}{% assign started = action.started_at | date: '%s' %}{% assign seconds = action.completed_at | date: '%s' | minus: started %}{% assign minutes = seconds | divided_by: 60 | floor %}{% if minutes > 0 %}{{ minutes }} min {% endif %}{{ seconds | modulo: 60 }} s{% else %}–{% endif %}"

/** One of these values by status. */
function byStatus(values: Record<'completed' | 'failed' | 'started' | 'otherwise', string>): string {
  const { completed, failed, started, otherwise } = values
  return `{% case action.status %}{% when 'completed' %}${completed}{% when 'failed' %}${failed}{% when 'in-progress' %}${started}{% else %}${otherwise}{% endcase %}`
}

/** The address of this installation, which the link to a run begins with. */
const ADDRESS = "{{ action.url_web_permalink | split: '/app/actions/' | first }}"

const TOKEN = '{{ credential.access_token }}'

/** Slack reads `<!channel>` and links in this text; nothing in it may begin one. */
const SLACK_TEXT = `{% capture headline %}${HEADLINE}{% endcapture %}{{ headline | replace: '&', '&amp;' | replace: '<', '&lt;' | replace: '>', '&gt;' }}`

/** The fields are plain_text elements, in which Slack ignores markup. An update defaults to another `parse`. */
export function slackMessage({ channel = '' }: Preset, api: string): PresetRequests {
  const field = (label: string, value: string) => ({ type: 'plain_text', text: `${label}: ${value}` })
  const content = {
    text: SLACK_TEXT,
    parse: 'none',
    link_names: false,
    attachments: [
      {
        color: byStatus({
          completed: '#2eb67d',
          failed: '#e01e5a',
          started: '#ecb22e',
          otherwise: '#9e9e9e',
        }),
        blocks: [
          {
            type: 'section',
            fields: [
              field('Pipeline', PIPELINE),
              field('Started by', STARTED_BY),
              field('Commit', COMMIT_LINE),
              field('Duration', DURATION),
            ],
          },
          {
            type: 'context',
            elements: [{ type: 'mrkdwn', text: `<${LINK}|Run {{ action.id }}>`, verbatim: true }],
          },
        ],
      },
    ],
  }
  const request_headers = [
    { name: 'Authorization', value: `Bearer ${TOKEN}` },
    { name: 'Content-Type', value: 'application/json; charset=utf-8' },
  ]
  return {
    capture: [
      { name: 'ts', path: 'ts', type: 'string' },
      { name: 'channel', path: 'channel', type: 'string' },
    ],
    requests: {
      create: {
        target_url: `${api}/api/chat.postMessage`,
        request_headers,
        request_body: { channel, ...content, unfurl_links: false, unfurl_media: false },
      },
      update: {
        target_url: `${api}/api/chat.update`,
        request_headers,
        request_body: { channel: '{{ captured.channel }}', ts: '{{ captured.ts }}', ...content },
      },
    },
  }
}

/** No text can mention anyone. The nonce closes the gap between Discord's answer and our record of it. */
export function discordMessage({ channel = '' }: Preset, api: string): PresetRequests {
  const field = (name: string, value: string) => ({ name, value, inline: true })
  const color = (red: string) => `{% assign color = ${red} %}`
  const content = {
    embeds: [
      {
        title: `{% capture headline %}${HEADLINE}{% endcapture %}{{ headline | truncate: 250 }}`,
        url: LINK,
        color: `${byStatus({ completed: color('3061373'), failed: color('14687834'), started: color('15512110'), otherwise: color('10395294') })}{{ color | integer }}`,
        fields: [
          field('Pipeline', PIPELINE),
          field('Started by', STARTED_BY),
          field('Duration', DURATION),
          { name: 'Commit', value: COMMIT_LINE },
        ],
      },
    ],
    allowed_mentions: { parse: [] },
  }
  const messages = `${api}/api/v10/channels/${channel}/messages`
  const request_headers = [
    { name: 'Authorization', value: `Bot ${TOKEN}` },
    { name: 'User-Agent', value: discordAgent(ADDRESS) },
  ]
  return {
    capture: [{ name: 'message_id', path: 'id', type: 'string' }],
    requests: {
      create: {
        target_url: messages,
        request_headers,
        request_body: { ...content, nonce: '{{ request.idempotency_key }}', enforce_nonce: true },
      },
      update: {
        method: 'PATCH',
        target_url: `${messages}/{{ captured.message_id }}`,
        request_headers,
        request_body: content,
      },
    },
  }
}
