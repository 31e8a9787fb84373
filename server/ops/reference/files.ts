import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { type StaticFile, toFile } from '#platform/http/static-files.ts'

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}

/** The style sheet and the scripts of the page, by name. They are sent as they are: there is nothing to build. */
export async function readStaticFiles(): Promise<ReadonlyMap<string, StaticFile>> {
  const folder = new URL('./browser/', import.meta.url)
  const names = (await readdir(folder)).filter((name) => extname(name) in TYPES)
  return new Map(
    await Promise.all(
      names.map(
        async (name) =>
          [name, await toFile(await readFile(new URL(name, folder)), TYPES[extname(name)]!)] as const,
      ),
    ),
  )
}
