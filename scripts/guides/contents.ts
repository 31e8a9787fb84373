// Which pages are guides, where they are served, and in which order: docs/README.md says so.
import { basename, dirname, join, relative } from 'node:path/posix'

/** The pages under docs/ that are about the code, not about using Gantry. */
const NOT_SERVED = /^(architecture\.md|decisions\/)/

export const INDEX = 'README.md'

/** Whether a file, relative to docs/, is a guide. */
export function isGuide(path: string): boolean {
  return path.endsWith('.md') && !NOT_SERVED.test(path)
}

/** `guides/runs.md` → `runs`, which is served as /docs/guides/runs; the index is ''. */
export function nameOf(path: string): string {
  return path === INDEX ? '' : basename(path, '.md')
}

export function urlOf(path: string): string {
  return path === INDEX ? '/docs/guides' : `/docs/guides/${nameOf(path)}`
}

/** Where a relative link on a page leads: a path relative to docs/, which may start with `..`, and an anchor. */
export function readHref(page: string, href: string): { path: string; anchor: string } {
  const [file = '', anchor = ''] = href.split('#', 2)
  const path = file === '' ? page : relative('.', join(dirname(page), decode(file)))
  return { path, anchor: decode(anchor) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export type Group = { title: string; pages: { path: string; label: string }[] }

const SECTION = /^## (.+)$/m
const LINK = /\[([^\]]+)\]\(([^)\s]+)\)/g

/**
 * The groups of the sidebar: the sections of docs/README.md. A page that several of them link to is in the one that does so
 * most often, under the name of its first link there, without what follows a colon.
 */
export function readGroups(index: string): Group[] {
  const [, ...parts] = index.split(SECTION)
  const sections = Array.from({ length: parts.length / 2 }, (_, at) => ({
    title: parts[at * 2]!,
    links: [...parts[at * 2 + 1]!.matchAll(LINK)]
      .map(([, label, href]) => ({ label: label!, path: readHref(INDEX, href!).path }))
      .filter(({ path }) => isGuide(path) && !path.startsWith('..')),
  }))
  const countIn = (links: { path: string }[], path: string) =>
    links.filter((link) => link.path === path).length
  const homeOf = (path: string) =>
    sections.toSorted((one, other) => countIn(other.links, path) - countIn(one.links, path))[0]
  return sections
    .map((section) => ({
      title: section.title,
      pages: section.links
        .filter(({ path }, at) => section.links.findIndex((one) => one.path === path) === at)
        .filter(({ path }) => homeOf(path) === section)
        .map(({ path, label }) => ({ path, label: label.split(':')[0]! })),
    }))
    .filter(({ pages }) => pages.length > 0)
}

/** The index without the sections that have no guide. */
export function shownIndex(index: string, groups: readonly Group[]): string {
  const [start, ...parts] = index.split(SECTION)
  const shown = Array.from({ length: parts.length / 2 }, (_, at) => at * 2)
    .filter((at) => groups.some(({ title }) => title === parts[at]))
    .map((at) => `## ${parts[at]}${parts[at + 1]}`)
  return [start, ...shown].join('')
}
