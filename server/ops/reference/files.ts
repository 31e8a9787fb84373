import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { encodedFile, type PageFile } from '#views/dashboard/built-pages.ts'

const compress = { br: promisify(brotliCompress), gzip: promisify(gzip) }
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}
/** The page is compressed when it is first read: nearly as small as with 11, in a fraction of the time. */
const BROTLI_QUALITY = 6

/** The style sheet and the scripts of the page, by name. They are sent as they are: there is nothing to build. */
export async function readStaticFiles(): Promise<ReadonlyMap<string, PageFile>> {
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

/** In all encodings that it may be sent in, best first. */
export async function toFile(bytes: Buffer, type: string): Promise<PageFile> {
  const [br, gz] = await Promise.all([
    compress.br(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    compress.gzip(bytes),
  ])
  return {
    type,
    isHashed: false,
    encodings: [encodedFile('br', br), encodedFile('gzip', gz), encodedFile(null, bytes)],
  }
}
