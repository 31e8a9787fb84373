// A gantry.yaml that is applied in the browser. Pure.
import type { components } from '#client/index.ts'

export type Applied = components['schemas']['Applied']
export type ApplyBody = components['schemas']['ApplyRequest']

/** The names of `${NAME}` in a document; `$${NAME}` is text. */
export function placeholders(document: string): string[] {
  const found = document.matchAll(/(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)
  return [...new Set([...found].map(([, name]) => name!))].sort()
}

type ApplyInput = { document: string; values: Record<string, string>; prune: boolean }

export function applyBody({ document, values, prune }: ApplyInput, isDryRun: boolean): ApplyBody {
  const used = placeholders(document).flatMap((name) => (values[name] ? [[name, values[name]]] : []))
  return { document, values: Object.fromEntries(used), dry_run: isDryRun, prune }
}

/** `2 created, 1 changed`. */
export function summaryOf({ summary, dry_run }: Applied): string {
  const counts = Object.entries(summary).filter(([, count]) => count > 0)
  if (counts.length === 0) return 'Nothing differs from what is stored.'
  const words: Record<string, [string, string]> = {
    create: ['to create', 'created'],
    change: ['to change', 'changed'],
    delete: ['to remove', 'removed'],
  }
  return counts.map(([verb, count]) => `${count} ${words[verb]?.[dry_run ? 0 : 1] ?? verb}`).join(', ')
}
