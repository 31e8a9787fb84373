import type { ResourceSummary } from './schemas.ts'

const SUMMARIZED = {
  project: ['projects', 'Project', 'Projects'],
  environment: ['environments', 'Environment', 'Environments'],
  application: ['applications', 'Application', 'Applications'],
  server: ['servers', 'Server', 'Servers'],
  pipeline: ['pipelines', 'Pipeline', 'Pipelines'],
  credential: ['credentials', 'Credential', 'Credentials'],
} as const

export type Counts = Partial<Record<keyof typeof SUMMARIZED, number>>

/** In a fixed order, for the kinds that were counted. */
export function summarize(counts: Counts): ResourceSummary[] {
  return (Object.keys(SUMMARIZED) as (keyof typeof SUMMARIZED)[])
    .filter((kind) => counts[kind] !== undefined)
    .map((kind) => {
      const [plural, singularName, pluralName] = SUMMARIZED[kind]
      return {
        resource_type: kind,
        resource_type_plural: plural,
        resource_type_human_readable: singularName,
        resource_type_human_readable_plural: pluralName,
        summary: { count: counts[kind] ?? 0 },
      }
    })
}
