// The browser for all tests of the pages: Debian's Chromium, driven by playwright-core. Its headless shell is the same
// engine without a window, and takes less than half of the CPU time.
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { afterBatch, isBatch } from '#test/support/batch-end.ts'

const HEADLESS_SHELL = '/usr/lib/chromium/chromium-headless-shell'
const CHROMIUM = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
]

function findChromium(paths: string[]): string {
  const found = [process.env.CHROMIUM, ...paths].find((path) => path !== undefined && existsSync(path))
  if (!found) throw new Error('no Chromium found: install it (apt-get install chromium) or set CHROMIUM')
  return found
}

let shared: Promise<Browser> | undefined

/** The browser of a test file. Files that run one after the other in one process share it. */
export async function openBrowser(): Promise<Browser> {
  if (!isBatch()) return launchBrowser()
  // After a crash the files that follow have another one.
  if (!(await shared)?.isConnected()) {
    shared = launchBrowser()
    const launched = shared
    afterBatch(async () => (await launched).close())
  }
  return partOf(await shared!)
}

/** The same browser as if it were another one: it has, and closes, only its own contexts. */
function partOf(browser: Browser): Browser {
  const contexts: BrowserContext[] = []
  const own: Partial<Browser> = {
    async newContext(options) {
      const context = await browser.newContext(options)
      contexts.push(context)
      return context
    },
    async close() {
      for (const context of contexts) await context.close()
    },
  }
  return new Proxy(browser, {
    get(_, name) {
      const value = Reflect.get(Object.hasOwn(own, name) ? own : browser, name)
      return typeof value === 'function' ? value.bind(browser) : value
    },
  })
}

/** `isComplete`: the browser that people use, to measure what they wait for. */
export async function launchBrowser({ isComplete = false } = {}): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(isComplete ? CHROMIUM : [HEADLESS_SHELL, ...CHROMIUM]),
    // Root and many containers cannot use it; the pages are our own.
    chromiumSandbox: false,
    args: ['--disable-dev-shm-usage', '--disable-gpu', '--no-first-run'],
  })
}
