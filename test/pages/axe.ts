import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

/** Half as much to parse for every page. */
const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Violation = { id: string; impact: string | null; nodes: { html: string; failureSummary: string }[] }

/** Styles are inspected as they are; nothing is fetched again. */
const OPTIONS = `resultTypes: ['violations'], preload: false`
/** Without the rules whose violations are never serious. */
const ALL = `axe.run(document, { ${OPTIONS}, rules: Object.fromEntries(
  axe._audit.rules
    .filter(({ impact }) => impact === 'minor' || impact === 'moderate')
    .map(({ id }) => [id, { enabled: false }]),
) })`
const COLORS = `axe.run(document, { ${OPTIONS}, runOnly: ['color-contrast', 'link-in-text-block'] })`

/** Serious and critical accessibility violations, as text. `colors`: only of those, where all else was judged before. */
export async function findViolations(page: Page, what: 'all' | 'colors' = 'all'): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(SOURCE)
  const { violations } = (await page.evaluate(what === 'all' ? ALL : COLORS)) as { violations: Violation[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary} (${nodes.length})`)
}
