import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { findViolations } from './axe.ts'
import { isLoaded } from './world.ts'

const LOOKS = [
  { colorScheme: 'light', width: 1200, height: 800 },
  { colorScheme: 'dark', width: 360, height: 740 },
] as const

/** Light and wide, dark and narrow: accessible, no wider than the window, and no style element. */
export async function looksRight(page: Page, state: string): Promise<void> {
  await page.getByRole('heading').first().waitFor()
  await isLoaded(page)
  for (const look of LOOKS) {
    await page.emulateMedia(look)
    await page.setViewportSize(look)
    assert.deepEqual(await findViolations(page), [], `${state} (${look.colorScheme})`)
    const isTooWide = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')
    assert.equal(isTooWide, false, `${state} is wider than ${look.width}`)
  }
  assert.equal(await page.locator('style').count(), 0, `${state} has a style element`)
  await page.setViewportSize(LOOKS[0])
}
