// What is done on a page until the picture shows what it is about.
import type { Page } from 'playwright-core'

/** A button or an item of an open menu, by its name; a value for an input; or a text to wait for. */
export type Step = string | RegExp | { fill: string; with: string } | { see: string }

export type Picture = {
  name: string
  path: string
  /** Until the picture shows what it is about. */
  prepare?(page: Page): Promise<unknown>
  /** Higher than the window. */
  isWhole?: boolean
  /** Wide windows do not have it. */
  isNarrowOnly?: boolean
  /** Of somebody who is not signed in. */
  isSignedOut?: boolean
  /** What is behind the dialog never loads. */
  isNeverLoaded?: boolean
}

export async function take(page: Page, ...steps: Step[]): Promise<void> {
  for (const step of steps) {
    const dialogs = page.getByRole('dialog')
    const within = (await dialogs.count()) > 0 ? dialogs.last() : page
    if (typeof step === 'object' && 'see' in step) await page.getByText(step.see).first().waitFor()
    else if (typeof step === 'object' && 'fill' in step)
      await within.getByLabel(step.fill, { exact: true }).fill(step.with)
    else {
      const options = typeof step === 'string' ? { name: step, exact: true } : { name: step }
      const item = page.getByRole('menuitem', options)
      await within.getByRole('button', options).or(item).first().click()
    }
  }
}

/** Takes the steps, and waits for the dialog that they lead to. */
export function opened(name: string, path: string, ...steps: Step[]): Picture {
  return {
    name,
    path,
    async prepare(page) {
      await take(page, ...steps)
      await page.getByRole('dialog').last().getByRole('button').first().waitFor()
    },
  }
}
