import { withoutTexts } from '#model/hooks/present-hook.ts'
import { maskPath } from '#platform/masking/masked.ts'

type Values = Record<string, unknown> | null
type Entry = { subject_type: string; before: Values; after: Values }

/** An entry as it is shown to people who do not see the URLs of hooks: no receiver, and nothing of what is sent. Pure. */
export function maskReceivers<Shown extends Entry>(entry: Shown): Shown {
  if (!entry.subject_type.endsWith('_hook')) return entry
  return { ...entry, before: maskHook(entry.before), after: maskHook(entry.after) }
}

function maskHook(values: Values): Values {
  if (values === null) return null
  const { target_url: url, settings } = values
  return {
    ...values,
    ...(typeof url === 'string' && { target_url: maskPath(url) }),
    ...(typeof settings === 'object' && settings !== null && { settings: withoutTexts(settings as never) }),
  }
}
