// One page of docs/ as Markdown: its headings with their anchors, its links with their lines, its text for the search,
// and its HTML. Pure.
import { Marked, type Renderer, type Token, type Tokens } from 'marked'
import { highlight, html } from '#ops/reference/html.ts'
import { highlightCode } from './highlight-code.ts'

export type Heading = { id: string; depth: number; text: string }
/** Where a link or an image leads, and the line that it is on. */
export type Link = { href: string; line: number; isImage: boolean }
/** A heading, and the text up to the next one. */
export type Section = { heading: Heading; text: string }
export type Problem = { line: number; message: string }

/** What a link becomes: a link, or text with the name of a file that is not served. */
export type Target =
  | { kind: 'url'; url: string }
  | { kind: 'mention'; path: string }
  | { kind: 'image'; url: string; width: number; height: number }

export type Guide = {
  title: string
  headings: Heading[]
  links: Link[]
  sections: Section[]
  problems: Problem[]
  /** `resolve` gets the destination of each link and image. */
  render(resolve: (href: string) => Target): string
}

const markdown = new Marked({ gfm: true })

export function readGuide(source: string): Guide {
  const tokens = markdown.lexer(source)
  const headings = new Map<Token, Heading>()
  const links: Link[] = []
  const problems: Problem[] = []
  const sections: Section[] = []
  const uses = new Map<string, number>()
  let line = 1
  for (const block of tokens) {
    const lineOf = lineFinder(block.raw, line)
    markdown.walkTokens([block], (token) => {
      if (token.type === 'heading') {
        const { depth, tokens: inner = [] } = token as Tokens.Heading
        const text = plainText(inner)
        headings.set(token, { id: anchorOf(text, uses), depth, text })
      }
      if (token.type === 'link' || token.type === 'image')
        links.push({ href: token.href, line: lineOf(token.raw), isImage: token.type === 'image' })
      if (token.type === 'html' && !isComment(token.raw))
        problems.push({ line: lineOf(token.raw), message: `HTML is not allowed: ${token.raw.trim()}` })
    })
    const heading = headings.get(block)
    if (heading) sections.push({ heading, text: '' })
    else if (sections.length > 0) sections.at(-1)!.text += ` ${plainText([block])}`
    line += block.raw.split('\n').length - 1
  }
  for (const section of sections) section.text = section.text.replaceAll(/\s+/g, ' ').trim()
  const all = [...headings.values()]
  const title = all.find(({ depth }) => depth === 1)?.text
  if (title === undefined) problems.push({ line: 1, message: 'the page has no title (a line with one #)' })
  return {
    title: title ?? '',
    headings: all,
    links,
    sections,
    problems,
    render: (resolve) => render(tokens, headings, resolve),
  }
}

/** A note for editors. `-->` may occur once, so that nothing follows it. */
function isComment(text: string): boolean {
  return /^<!--((?!-->)[\s\S])*-->\s*$/.test(text)
}

/** As GitHub names them: a second heading of the same name gets a number. */
function anchorOf(text: string, uses: Map<string, number>): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-')
  const count = uses.get(name) ?? 0
  uses.set(name, count + 1)
  if (count === 0) return name
  const numbered = `${name}-${count}`
  uses.set(numbered, 1)
  return numbered
}

/** Finds the line of what is inside of a block. It is asked in the order of the text. */
function lineFinder(block: string, start: number): (raw: string) => number {
  let from = 0
  return (raw) => {
    const found = block.indexOf(raw, from)
    if (found >= 0) from = found + 1
    return start + block.slice(0, Math.max(found, 0)).split('\n').length - 1
  }
}

/** Without any markup. */
function plainText(tokens: readonly Token[]): string {
  return tokens.map(textOf).join('')
}

function textOf(token: Token): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    return [header, ...rows].flatMap((row) => row.map((cell) => `${plainText(cell.tokens)} `)).join('')
  }
  if (token.type === 'list')
    return (token as Tokens.List).items.map((item) => `${plainText(item.tokens)} `).join('')
  if (token.type === 'br' || token.type === 'space') return ' '
  // Comments; other HTML is a problem.
  if (token.type === 'html') return ''
  if (token.type === 'image') return token.text
  const { tokens, text = '' } = token as Partial<Pick<Tokens.Text, 'tokens' | 'text'>>
  return tokens ? plainText(tokens) : text
}

function render(
  tokens: Token[],
  headings: ReadonlyMap<Token, Heading>,
  resolve: (href: string) => Target,
): string {
  const renderer: Partial<Renderer> & ThisType<Renderer> = {
    heading(token) {
      const { id, depth } = headings.get(token)!
      const inner = this.parser.parseInline(token.tokens)
      const isPlain = depth > 1 && !inner.includes('<a ')
      const text = isPlain ? `<a href="#${html(id)}">${inner}</a>` : inner
      return `<h${depth} id="${html(id)}">${text}</h${depth}>\n`
    },
    link({ href, tokens: inner }) {
      const text = this.parser.parseInline(inner)
      const target = resolve(href)
      if (target.kind === 'mention')
        return text.includes(html(target.path))
          ? text
          : `${text} (<code>${html(target.path)}</code> in the source)`
      return `<a href="${html(target.url)}">${text}</a>`
    },
    image({ href, text }) {
      const target = resolve(href)
      if (target.kind !== 'image') return html(text)
      const { url, width, height } = target
      return `<img src="${html(url)}" alt="${html(text)}" width="${width}" height="${height}" loading="lazy">`
    },
    html: ({ text }) => (isComment(text) ? '' : html(text)),
    // Paths may wrap after their slashes.
    codespan: ({ text }) => `<code>${html(text).replaceAll('/', '/<wbr>')}</code>`,
    code: ({ text, lang = '' }) =>
      `<figure class="code"><figcaption>${html(lang || 'text')}</figcaption><pre><code>${highlightCode(text, lang, highlight)}</code></pre></figure>\n`,
    table({ header, rows }) {
      const cells = (row: Tokens.TableCell[], tag: string) =>
        `<tr>${row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
      const head = header.every(({ text }) => text === '') ? '' : `<thead>${cells(header, 'th')}</thead>`
      const body = rows.map((row) => cells(row, 'td')).join('\n')
      // It scrolls where it does not fit, also by keyboard.
      return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>${body}</tbody></table></div>\n`
    },
  }
  return new Marked({ gfm: true, renderer: renderer as Renderer }).parser(tokens)
}
