// npm run screenshots: takes the screenshots that the docs use, into docs/screenshots. With `-- --all` every page and
// dialog, light and dark, wide and narrow; `-- --only=hook` those whose name contains it; `-- --to=folder` elsewhere.
// The data comes from a temporary Gantry.
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { isLoaded, openPage } from '#test/pages/world.ts'
import { beautify } from './screenshots/display.ts'
import { setUp } from './screenshots/installation.ts'
import { allPictures, type Picture, USED } from './screenshots/pictures.ts'

const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    only: { type: 'string' },
    to: { type: 'string', default: fileURLToPath(new URL('../docs/screenshots', import.meta.url)) },
  },
})

const LOOKS = [
  { name: 'light-wide', colorScheme: 'light', width: 1440, height: 900 },
  { name: 'dark-wide', colorScheme: 'dark', width: 1440, height: 900 },
  { name: 'light-narrow', colorScheme: 'light', width: 360, height: 740 },
  { name: 'dark-narrow', colorScheme: 'dark', width: 360, height: 740 },
] as const
type Look = (typeof LOOKS)[number]

const isWanted = (file: string) =>
  options.only ? file.includes(options.only) : options.all || USED.includes(file)

const cleanups: (() => Promise<void>)[] = []
const failed: string[] = []
try {
  const installation = await setUp({ after: (cleanUp) => void cleanups.push(cleanUp) })
  await mkdir(options.to, { recursive: true })
  const { page: first } = await openPage(installation.world, '/app/overview')
  await beautify(first.context(), installation)
  await first.evaluate(`localStorage.setItem('gantry-setup-hidden', '1')`)
  for (const look of LOOKS)
    for (const picture of allPictures(installation)) {
      const file = `${picture.name}-${look.name}`
      if (!isWanted(file) || (picture.isNarrowOnly && look.width > 400)) continue
      const page = await first.context().newPage()
      try {
        await take(page, picture, look, `${options.to}/${file}.png`)
      } catch (error) {
        failed.push(file)
        console.error(`${file}: ${(error as Error).message}`)
        await page.screenshot({ path: `${options.to}/${file}.failed.png` })
      }
      await page.close()
    }
} finally {
  for (const cleanUp of cleanups.toReversed()) await cleanUp()
}
if (failed.length > 0) {
  console.error(`Not taken: ${failed.join(', ')}`)
  process.exitCode = 1
}

async function take(page: Page, picture: Picture, look: Look, path: string): Promise<void> {
  await page.emulateMedia({ colorScheme: look.colorScheme, reducedMotion: 'reduce' })
  await page.setViewportSize(look)
  page.setDefaultTimeout(10_000)
  await page.goto(`/app${picture.path}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await isLoaded(page)
  await picture.prepare?.(page)
  await isLoaded(page)
  // Not under the pointer: nothing looks hovered.
  await page.mouse.move(0, 0)
  if (picture.isWhole) {
    const height = await page.evaluate('document.documentElement.scrollHeight')
    await page.setViewportSize({ width: look.width, height: Math.max(look.height, height as number) })
  }
  await page.screenshot({ path, scale: 'css' })
}
