// Renders the guides of a project into a folder: `build-guides.ts <project> <folder>`. A link that leads nowhere, HTML, or
// a page that the index does not list is a problem: all of them are reported, with file and line, and nothing is written.
import { access, glob, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { INDEX, isGuide, nameOf, readGroups, readHref, shownIndex, urlOf } from './contents.ts'
import { type Guide, type Link, readGuide, type Target } from './read-guide.ts'
import { renderMissing, renderPage } from './render-page.ts'

type Entry = { page: string; heading: string; url: string; text: string }
type Built = { files: Map<string, string | Buffer>; problems: string[] }

/** The files of the site by name. */
export async function renderGuides(root: string): Promise<Built> {
  const docs = join(root, 'docs')
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const sources = new Map<string, string>()
  for (const path of (await Array.fromAsync(glob('**/*.md', { cwd: docs }))).filter(isGuide).sort())
    sources.set(path, await readFile(join(docs, path), 'utf8'))
  const index = sources.get(INDEX) ?? ''
  const groups = readGroups(index)
  const listed = groups.flatMap(({ pages }) => pages.map(({ path }) => path))
  const guides = new Map([...sources].map(([path, source]) => [path, readGuide(source)]))
  const problems = [...guides].flatMap(([path, guide]) =>
    guide.problems.map(({ line, message }) => `docs/${path}:${line}: ${message}`),
  )
  for (const path of guides.keys()) {
    if (path !== INDEX && !listed.includes(path))
      problems.push(`docs/${path}:1: docs/${INDEX} has no link to it`)
    const other = [...guides.keys()].find((one) => one !== path && nameOf(one) === nameOf(path))
    if (other !== undefined) problems.push(`docs/${path}:1: has the same name as docs/${other}`)
  }

  const files = new Map<string, string | Buffer>()
  const targets = new Map<string, Map<string, Target>>()
  const project = openProject(docs, guides)
  for (const [path, { links }] of guides) {
    const ofPage = new Map<string, Target>()
    for (const link of links) {
      const found = await findTarget(project, path, link)
      if (typeof found === 'string') {
        problems.push(`docs/${path}:${link.line}: ${link.isImage ? 'image' : 'link'} ${link.href}: ${found}`)
        continue
      }
      if (found.bytes) files.set(found.target.url.replace('/docs/guides/', ''), found.bytes)
      ofPage.set(link.href, found.target)
    }
    targets.set(path, ofPage)
  }
  if (problems.length > 0) return { files: new Map(), problems }

  const entries: Entry[] = []
  for (const [path, guide] of guides) {
    const shown = path === INDEX ? readGuide(shownIndex(index, groups)) : guide
    const body = shown.render((href) => targets.get(path)!.get(href)!)
    const page = renderPage({ path, title: shown.title, headings: shown.headings, body }, groups, version)
    files.set(`${nameOf(path) || 'index'}.html`, page)
    // The index has the words of all others.
    if (path !== INDEX) entries.push(...entriesOf(path, guide))
  }
  files.set('404.html', renderMissing(groups, version))
  files.set('search.json', JSON.stringify(entries))
  return { files, problems }
}

function entriesOf(path: string, { title, sections }: Guide): Entry[] {
  return sections.map(({ heading: { id, depth, text: heading }, text }) => ({
    page: title,
    heading,
    url: depth === 1 ? urlOf(path) : `${urlOf(path)}#${id}`,
    text,
  }))
}

type Project = { docs: string; anchorsOf(path: string): Promise<ReadonlySet<string>> }

function openProject(docs: string, guides: ReadonlyMap<string, Guide>): Project {
  return {
    docs,
    async anchorsOf(path) {
      const guide = guides.get(path) ?? readGuide(await readFile(join(docs, path), 'utf8'))
      return new Set(guide.headings.map(({ id }) => id))
    },
  }
}

type Found = { target: Target; bytes?: undefined } | { target: Target & { kind: 'image' }; bytes: Buffer }

/** Where a link leads, or what is wrong with it. */
async function findTarget(project: Project, page: string, { href, isImage }: Link): Promise<Found | string> {
  if (/^(https?:\/\/|mailto:)/.test(href) && !isImage) return { target: { kind: 'url', url: href } }
  if (/^([a-z][\w+.-]*:|\/)/i.test(href))
    return 'links are relative, or start with http://, https:// or mailto:'
  const { path, anchor } = readHref(page, href)
  if (path.startsWith('../..')) return 'is outside of the project'
  const file = join(project.docs, path)
  const exists = await access(file).then(
    () => true,
    () => false,
  )
  if (!exists) return 'there is no such file'
  if (isImage) return readImage(path, await readFile(file))
  if (anchor !== '' && path.endsWith('.md') && !(await project.anchorsOf(path)).has(anchor))
    return `docs/${path} has no heading #${anchor}`.replace('docs/../', '')
  if (path.startsWith('..') || !isGuide(path))
    return { target: { kind: 'mention', path: join('docs', path) } }
  return { target: { kind: 'url', url: anchor === '' ? urlOf(path) : `${urlOf(path)}#${anchor}` } }
}

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')

function readImage(path: string, bytes: Buffer): Found | string {
  if (!/^screenshots\/[\w-]+\.png$/.test(path) || !bytes.subarray(0, 8).equals(PNG))
    return 'images are PNG files in docs/screenshots'
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  return { target: { kind: 'image', url: `/docs/guides/${path}`, width, height }, bytes }
}

if (import.meta.main) {
  const [root, folder] = process.argv.slice(2) as [string, string]
  const { files, problems } = await renderGuides(root)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
  for (const [name, content] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
}
