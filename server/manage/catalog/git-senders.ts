import type { IncomingHookBody } from '#model/hooks/schemas.ts'
import { branch, is, type SenderParts, sender, signed, steps, text, when } from './entry-parts.ts'
import type { Sender } from './schemas.ts'

/** A push as GitHub describes it, and those who follow it. */
const push = {
  settings: { variables: [text('branch', 'ref'), text('commit', 'after')] },
  trigger_when: when(is('ref', 'refs/heads/<branch>')),
} satisfies Partial<IncomingHookBody>

type GitParts = Partial<SenderParts> & Pick<SenderParts, 'instructions' | 'hook'>

function gitSender(code: string, name: string, parts: GitParts) {
  const description = 'Deploys every push to a branch.'
  return sender(code, name, { description, events: ['push'], fields: [branch], ...parts })
}

export const GIT_SENDERS: readonly Sender[] = [
  gitSender('github', 'GitHub', {
    description:
      'Deploys every push to a branch. GitHub first sends a ping to test the URL: Gantry answers it and starts nothing.',
    instructions: steps(
      'Open the repository → Settings → Webhooks → Add webhook.',
      'Payload URL: <url>',
      'Content type: application/json (the other one works too)',
      'Secret: <secret>',
      'Which events: just the push event.',
    ),
    hook: { ...signed('X-Hub-Signature-256'), ...push },
  }),
  gitSender('gitea', 'Gitea', {
    instructions: steps(
      'Open the repository → Settings → Webhooks → Add webhook → Gitea.',
      'Target URL: <url>',
      'HTTP method: POST; content type: application/json (the other one cannot be verified)',
      'Secret: <secret>',
      'Trigger on: push events.',
    ),
    hook: { ...signed('X-Gitea-Signature'), ...push },
  }),
  gitSender('forgejo', 'Forgejo', {
    instructions: steps(
      'Open the repository → Settings → Webhooks → Add webhook → Forgejo.',
      'Target URL: <url>',
      'HTTP method: POST; content type: application/json',
      'Secret: <secret>',
      'Trigger on: push events.',
    ),
    hook: {
      ...signed('X-Forgejo-Signature'),
      ...push,
      settings: { variables: [...push.settings.variables, text('pusher', 'pusher.login', false)] },
    },
  }),
  gitSender('bitbucket', 'Bitbucket', {
    description: 'Deploys every push to a branch.',
    events: ['repo:push'],
    instructions: steps(
      'Open the repository settings → Webhooks → Add webhook.',
      'URL: <url>',
      'Secret: <secret>',
      'Triggers: repository push.',
    ),
    hook: {
      ...signed('X-Hub-Signature'),
      settings: {
        variables: [
          text('branch', 'push.changes.0.new.name'),
          text('commit', 'push.changes.0.new.target.hash'),
        ],
      },
      trigger_when: when(is('push.changes.0.new.type', 'branch'), is('push.changes.0.new.name', '<branch>')),
    },
  }),
  gitSender('gitlab', 'GitLab', {
    description:
      'Deploys every push to a branch. GitLab sends the secret token with each call and does not sign it, so use an https URL. If your GitLab offers a signing token, use Standard Webhooks instead.',
    events: ['Push events'],
    instructions: steps(
      'Open the project → Settings → Webhooks → Add new webhook.',
      'URL: <url>',
      'Secret token: <secret>',
      'Trigger: push events.',
    ),
    hook: {
      ...signed('X-Gitlab-Token'),
      settings: {
        signature: { scheme: 'token' },
        variables: [
          text('branch', 'ref'),
          text('commit', 'checkout_sha'),
          { name: 'project', path: 'project_id', type: 'integer', required: true },
        ],
      },
      trigger_when: when(is('object_kind', 'push'), is('ref', 'refs/heads/<branch>')),
    },
  }),
]
