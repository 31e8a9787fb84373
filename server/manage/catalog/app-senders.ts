import { is, secret, sender, signed, signedByOwn, steps, suggested, text, when } from './entry-parts.ts'
import type { Sender } from './schemas.ts'

export const APP_SENDERS: readonly Sender[] = [
  sender('shopify', 'Shopify', {
    description:
      "Starts the pipeline when something changes in a shop. All webhooks of a shop have the same secret. For webhooks of an app, enter the app's client secret.",
    events: ['Product update'],
    instructions: steps(
      'Open Settings → Notifications → Webhooks → Create webhook.',
      'Format: JSON',
      'URL: <url>',
      'Copy the secret that the page shows.',
    ),
    fields: [secret('The secret at the bottom of the Webhooks page.', 'the secret that Shopify shows')],
    hook: {
      ...signedByOwn('X-Shopify-Hmac-SHA256'),
      settings: { variables: [text('product', 'id'), text('tags', 'tags', false)] },
    },
  }),
  sender('sentry', 'Sentry', {
    description: 'Starts the pipeline when an alert rule fires.',
    events: ['Alert Rule Action'],
    instructions: steps(
      'Open Settings → Developer Settings → New internal integration.',
      'Webhook URL: <url>',
      'Turn on "Alert Rule Action", save, and copy the client secret.',
      'Select the integration as an action of an alert rule.',
    ),
    fields: [secret('The client secret of the integration.', 'the client secret that Sentry shows')],
    hook: {
      ...signedByOwn('Sentry-Hook-Signature'),
      settings: {
        variables: [
          { name: 'issue', path: 'data.event.issue_id', type: 'integer', required: true },
          text('title', 'data.event.title'),
        ],
      },
      trigger_when: when(is('action', 'triggered')),
    },
  }),
  sender('linear', 'Linear', {
    description: 'Starts the pipeline when an issue moves to a state that you choose.',
    events: ['Issues'],
    instructions: steps(
      'Open Settings → API → Webhooks → New webhook.',
      'URL: <url>',
      'Data change events: issues.',
      'Copy the signing secret.',
    ),
    fields: [
      suggested('state', 'State', 'Issues that move to this state start the pipeline.', 'Ready to ship'),
      secret('The signing secret of the webhook.', 'the signing secret that Linear shows'),
    ],
    hook: {
      ...signedByOwn('Linear-Signature'),
      settings: { variables: [text('issue', 'data.identifier')] },
      trigger_when: when(is('type', 'Issue'), is('data.state.name', '<state>')),
    },
  }),
  sender('grafana', 'Grafana', {
    description: 'Starts the pipeline when alerts fire. Needs Grafana 12 or newer.',
    instructions: steps(
      'Open Alerting → Contact points → Add contact point → Webhook.',
      'URL: <url>',
      'HMAC signature: enter the secret <secret>, the header X-Grafana-Alerting-Signature and the timestamp header X-Grafana-Alerting-Timestamp.',
    ),
    hook: {
      ...signed('X-Grafana-Alerting-Signature'),
      settings: {
        signature: {
          scheme: 'timestamp',
          template: '{timestamp}:{body}',
          timestamp_header: 'X-Grafana-Alerting-Timestamp',
        },
        variables: [
          text('alert', 'commonLabels.alertname'),
          { name: 'alerts', path: 'alerts', type: 'array', required: true },
        ],
      },
      trigger_when: when(is('status', 'firing')),
    },
  }),
  sender('stripe', 'Stripe', {
    description:
      'Starts the pipeline when a customer completes a checkout, or at another event that you choose.',
    events: ['<event>'],
    instructions: steps(
      'Open Developers → Webhooks → Add endpoint.',
      'Endpoint URL: <url>',
      'Event: <event>',
      'Reveal the signing secret. Use it as shown, including whsec_.',
    ),
    fields: [
      suggested(
        'event',
        'Event',
        'The type of event that starts the pipeline.',
        'checkout.session.completed',
      ),
      secret('The signing secret of the endpoint.', 'whsec_the_secret_that_Stripe_shows'),
    ],
    hook: {
      ...signedByOwn('Stripe-Signature'),
      settings: {
        signature: { scheme: 'timestamp', template: '{timestamp}.{body}' },
        variables: [
          text('session', 'data.object.id'),
          { name: 'amount', path: 'data.object.amount_total', type: 'integer', required: false },
        ],
      },
      trigger_when: when(is('type', '<event>')),
    },
  }),
  sender('slack', 'Slack', {
    description:
      'Starts the pipeline with a button or a shortcut of your Slack app. Slash commands and the Events API cannot call a hook.',
    instructions: steps(
      'Open api.slack.com/apps → the app.',
      'Interactivity & Shortcuts → Request URL: <url>',
      'Create a shortcut with the callback ID <callback_id>.',
      'Copy the signing secret from Basic Information.',
    ),
    fields: [
      suggested(
        'callback_id',
        'Callback ID',
        'The callback ID of the button or shortcut that starts the pipeline.',
        'deploy',
      ),
      secret('The signing secret of the app.', 'the signing secret that Slack shows'),
    ],
    hook: {
      ...signedByOwn('X-Slack-Signature'),
      settings: {
        signature: {
          scheme: 'timestamp',
          template: 'v0:{timestamp}:{body}',
          timestamp_header: 'X-Slack-Request-Timestamp',
        },
        variables: [text('person', 'user.username')],
      },
      trigger_when: when(is('callback_id', '<callback_id>')),
    },
  }),
  sender('docker_hub', 'Docker Hub', {
    description:
      'Starts the pipeline when an image is pushed. Docker Hub does not sign its calls: everyone who knows the URL can start the pipeline, so keep it secret.',
    instructions: steps(
      'Open the repository → Webhooks.',
      'New webhook: enter a name, and as webhook URL <url>',
      'Create.',
    ),
    fields: [suggested('image_tag', 'Image tag', 'Pushes of this tag start the pipeline.', 'latest')],
    hook: {
      requires_secret: false,
      settings: { variables: [text('image', 'repository.repo_name'), text('image_tag', 'push_data.tag')] },
      trigger_when: when(is('push_data.tag', '<image_tag>')),
    },
  }),
]
