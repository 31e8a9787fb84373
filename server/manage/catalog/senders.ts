import { APP_SENDERS } from './app-senders.ts'
import { branch, secret, sender, signedByOwn, steps, text } from './entry-parts.ts'
import { GIT_SENDERS } from './git-senders.ts'
import type { Sender } from './schemas.ts'

/** In the order of docs/guides/senders.md, whose sections a test writes and compares (UPDATE=1). */
export const SENDERS: readonly Sender[] = [
  ...GIT_SENDERS,
  ...APP_SENDERS,
  sender('standard_webhooks', 'Standard Webhooks', {
    description:
      "For every sender that follows the specification at www.standardwebhooks.com, including Gantry's outgoing hooks.",
    instructions: steps(
      'Add an endpoint at the service, with the URL <url>',
      'Copy its signing secret: whsec_ followed by the key in base64.',
    ),
    fields: [
      secret('The signing secret of the endpoint.', 'whsec_cmVwbGFjZSBtZSB3aXRoIHRoZSByZWFsIGtleSEhISE='),
    ],
    hook: {
      ...signedByOwn('webhook-signature'),
      settings: {
        signature: {
          scheme: 'timestamp',
          template: '{id}.{timestamp}.{body}',
          timestamp_header: 'webhook-timestamp',
          id_header: 'webhook-id',
        },
        variables: [text('tag', 'data.tag')],
      },
    },
  }),
  sender('generic', 'Your own script', {
    description: 'Anything that can send JSON and sign it: HMAC-SHA256 of the body, in hex.',
    instructions: steps(
      'Send JSON to <url>',
      'Sign the body with HMAC-SHA256 and the secret <secret>',
      'Send the signature in the header X-Hub-Signature-256: sha256= followed by hex.',
    ),
    fields: [{ ...branch, description: 'Deployed when the body has no branch.' }],
    hookName: 'A script',
    hook: {
      requires_secret: true,
      settings: {
        variables: [{ name: 'branch', type: 'string', required: false, default_value: '<branch>' }],
      },
    },
  }),
  sender('unsigned', 'Without a signature', {
    description:
      'For senders that cannot sign. Anyone who knows the URL can start the pipeline: keep it secret, and use https.',
    instructions: steps('Send JSON to <url>'),
    fields: [{ ...branch, description: 'Deployed when the body has no branch.' }],
    hookName: 'Unsigned',
    hook: {
      requires_secret: false,
      settings: {
        variables: [{ name: 'branch', type: 'string', required: false, default_value: '<branch>' }],
      },
    },
  }),
]
