// The preset of a hook, and what it does beyond its requests. Pure.
import type { Hook } from '#web/base/api/types.ts'

/** Undefined for an ordinary hook. */
export function presetKind({ settings }: Pick<Hook, 'settings'>): string | undefined {
  return (settings.preset as { kind: string } | undefined)?.kind
}

/** What is different once the hook is an ordinary one. */
export function ejectChanges(kind: string, service: string): string[] {
  return [
    'It sends the same as before, and you can change its requests.',
    'Updates of Gantry no longer change them.',
    kind === 'slack_message'
      ? 'Errors of Slack are no longer recognized. It responds with 200 to nearly everything, which counts as delivered.'
      : `Responses of ${service} count by their status alone.`,
    ...(kind.endsWith('_status')
      ? [`Gantry no longer checks that ${service} shows the status, and does not send a lost one again.`]
      : []),
  ]
}
