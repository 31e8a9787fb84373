// One browser for all tests of the pages: Debian's Chromium, driven by playwright-core. Its headless shell is the same
// engine without a window, and takes less than half of the CPU time.
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

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

/** `isComplete`: the browser that people use, to measure what they wait for. */
export async function openBrowser({ isComplete = false } = {}): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(isComplete ? CHROMIUM : [HEADLESS_SHELL, ...CHROMIUM]),
    // Root and many containers cannot use it; the pages are our own.
    chromiumSandbox: false,
    args: ['--disable-dev-shm-usage', '--disable-gpu', '--no-first-run'],
  })
}
