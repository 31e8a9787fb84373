import { byStatus, COMMIT_LINE, DURATION, HEADLINE, PIPELINE, STARTED_BY } from './message-parts.ts'
import { discordAgent, LINK } from './parts.ts'
import type { PresetRequests } from './requests.ts'
import type { Preset } from './schema.ts'

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
