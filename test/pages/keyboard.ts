// For tests that use the keyboard alone.
import type { Page } from 'playwright-core'
import { until } from '#test/support/until.ts'

/** The name of what has the focus, also inside of an editor. */
const FOCUSED = `(() => {
  let element = document.activeElement
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement
  if (!element || element === document.body) return ''
  return (element.getAttribute('aria-label') ?? element.labels?.[0]?.innerText ?? element.innerText ?? '').trim()
})()`

const MAX_STOPS = 150

export const focusedName = async (page: Page): Promise<string> => page.evaluate(FOCUSED) as Promise<string>

/** Presses Tab until this has the focus. */
export async function tabTo(
  page: Page,
  name: string | RegExp,
  key: 'Tab' | 'Shift+Tab' = 'Tab',
): Promise<void> {
  const seen: string[] = []
  for (let stops = 0; stops < MAX_STOPS; stops++) {
    const focused = await focusedName(page)
    if (isNamed(focused, name)) return
    seen.push(focused)
    await page.keyboard.press(key)
  }
  throw new Error(`${key} never reaches ${name}: ${[...new Set(seen)].join(', ')}`)
}

/** Presses an arrow key until this has the focus: in a menu, whose dropdown may still be opening. */
export async function arrowTo(page: Page, name: string): Promise<void> {
  await until(`${name} has the focus`, 10_000, async () => {
    if (isNamed(await focusedName(page), name)) return true
    await page.keyboard.press('ArrowDown')
    return false
  })
}

/** What follows moved the focus there by itself. */
export async function focusMovesTo(page: Page, name: string | RegExp): Promise<void> {
  let focused = ''
  await until(`${name} has the focus`, 10_000, async () => {
    focused = await focusedName(page)
    return isNamed(focused, name)
  }).catch((error: Error) => {
    throw new Error(`${error.message}; ${focused || 'nothing'} has it`, { cause: error })
  })
}

function isNamed(focused: string, name: string | RegExp): boolean {
  return typeof name === 'string' ? focused === name : name.test(focused)
}
