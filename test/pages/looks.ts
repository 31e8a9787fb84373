// What every page and dialog must be: accessible, and no wider than the window.
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { findViolations } from './axe.ts'
import { isLoaded } from './world.ts'

/** Colors fade from one scheme to the other. */
const TRANSITIONS_END = `Promise.allSettled(document.getAnimations()
  .filter((one) => one.effect.getComputedTiming().iterations !== Infinity)
  .map((one) => one.finished))`

/** Light and wide, dark and narrow; and no style element. Leaves the page as it was: light and wide. */
export async function looksRight(page: Page, state: string, width = 1200): Promise<void> {
  await page.getByRole('heading').first().waitFor()
  await isLoaded(page)
  await page.setViewportSize({ width, height: 800 })
  await isAccessible(page, `${state}, light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize(NARROW)
  await isAccessible(page, `${state}, dark`)
  assert.equal(await page.locator('style').count(), 0, `${state} has a style element`)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width, height: 800 })
}

/** The other two ways as well, dark and wide, light and narrow, where nothing but colors is new. */
export async function looksRightInEveryWay(page: Page, state: string, width = WIDE): Promise<void> {
  await looksRight(page, state, width)
  await page.emulateMedia({ colorScheme: 'dark' })
  await isAccessible(page, `${state}, dark and wide`, 'colors')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(NARROW)
  await isAccessible(page, `${state}, light and narrow`, 'colors')
  await page.setViewportSize({ width, height: 800 })
}

const WIDE = 1440
const NARROW = { width: 360, height: 740 }

/** As it is shown now. */
export async function isAccessible(page: Page, state: string, what?: 'colors'): Promise<void> {
  await page.evaluate(TRANSITIONS_END)
  assert.deepEqual(await findViolations(page, what), [], state)
  const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
  assert.ok((overflow as number) <= 0, `${state} is ${overflow} px too wide`)
}
