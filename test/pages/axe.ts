import axe from 'axe-core'
import type { Page } from 'playwright-core'

type Violation = { id: string; impact: string | null; nodes: { html: string; failureSummary: string }[] }

/** Without the rules whose violations are never serious. */
const RUN = `axe.run(document, {
  resultTypes: ['violations'],
  rules: Object.fromEntries(
    axe._audit.rules
      .filter(({ impact }) => impact === 'minor' || impact === 'moderate')
      .map(({ id }) => [id, { enabled: false }]),
  ),
})`

/** Serious and critical accessibility violations, as text. */
export async function findViolations(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source)
  const { violations } = (await page.evaluate(RUN)) as { violations: Violation[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary} (${nodes.length})`)
}
