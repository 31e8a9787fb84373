// The catalog of senders and receivers: GET /catalog/senders and GET /catalog/receivers. What each hook of it does is
// tested through the guides (senders.test.ts, receivers.test.ts), which are compared with the catalog here. UPDATE=1
// writes what the catalog says into the guides; the JSON of the hooks is written by hand.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { after, suite, test } from 'node:test'
import { expandEntry } from '#client/index.ts'
import { RECEIVERS } from '#manage/catalog/receivers.ts'
import { SENDERS } from '#manage/catalog/senders.ts'
import { exampleValues } from '#test/support/catalog.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createPerson, createTestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { token } = tree.owner
const lists = { senders: SENDERS, receivers: RECEIVERS }

suite('the catalog', () => {
  test('is the same for everybody who is signed in, and for every personal access token', async () => {
    const stranger = await createPerson(db)
    const tokens = [token, stranger.token]
    for (const scope of ['read', 'run', 'hooks', 'manage']) {
      const body = { name: scope, scopes: [scope] }
      const made = await request('POST', '/users/personal-access-tokens', { token: stranger.token, body })
      tokens.push(made.body.token)
    }
    for (const [name, entries] of Object.entries(lists)) {
      for (const one of tokens) {
        const { status, body } = await request('GET', `/catalog/${name}`, { token: one })
        assert.equal(status, 200)
        assert.deepEqual(body, entries)
      }
      assert.equal((await request('GET', `/catalog/${name}`)).status, 401)
    }
  })

  test('names each entry once, and asks for exactly what its texts use', () => {
    for (const entries of Object.values(lists)) {
      assert.equal(new Set(entries.map(({ code }) => code)).size, entries.length)
      for (const { code, fields, hook, instructions, ...more } of entries) {
        const texts = JSON.stringify([hook, instructions, 'events' in more ? more.events : []])
        const used = new Set([...texts.matchAll(/<([a-z_]+)>/g)].map(([, name]) => name!))
        const asked = new Set(fields.map(({ name }) => name))
        assert.deepEqual(
          [...asked].filter((name) => !used.has(name)),
          [],
          code,
        )
        // Those of the hook are known after it was created.
        assert.deepEqual(
          [...used].filter((name) => !asked.has(name) && name !== 'url' && name !== 'secret'),
          [],
          code,
        )
        for (const { name, default_value, example } of fields)
          assert.ok(
            default_value !== null || example !== null,
            `${code}.${name} has neither default nor example`,
          )
        const needed = fields.filter(({ required }) => required).map(({ name }) => name)
        assert.ok(!needed.includes('secret'), `${code} can be created before its secret is known`)
      }
    }
  })

  for (const { code, fields, hook, secret_source } of SENDERS)
    test(`the hook for the sender ${code} can be created with and without what is optional`, async () => {
      for (const onlyRequired of [false, true]) {
        const body = expandEntry(hook, exampleValues(fields, { onlyRequired }))
        const {
          status,
          body: made,
          text,
        } = await request('POST', `/pipelines/${tree.pipelineId}/hooks/incoming`, {
          token,
          body,
        })
        assert.equal(status, 201, text)
        assert.equal(made.requires_secret, secret_source !== null)
        assert.equal(made.secret === body.secret, secret_source === 'sender' && !onlyRequired)
      }
    })
})

const HOOK =
  /^```bash\napi \/pipelines\/1\/hooks\/\w+ -d (?:'(\{[\s\S]*?\n\})'|@- <<'JSON'\n(\{[\s\S]*?\n\})\nJSON)\n```$/m

for (const [name, entries] of Object.entries(lists)) {
  const file = new URL(`../../docs/guides/${name}.md`, import.meta.url)
  const sectionsOf = (guide: string) =>
    guide
      .split(/^(?=## )/m)
      .filter((text) => HOOK.test(text))
      .map((text) => ({ title: /^## (.+)$/m.exec(text)![1]!, text }))

  test(`the guide to ${name} says what the catalog says`, async () => {
    const guide = await readFile(file, 'utf8')
    const sections = sectionsOf(guide)
    assert.deepEqual(
      sections.map(({ title }) => title),
      entries.map((entry) => entry.name),
    )
    if (process.env.UPDATE) {
      const rewritten = sections.map(({ title, text }) => [
        text,
        written(title) + text.slice(text.indexOf('```bash')),
      ])
      await writeFile(
        file,
        rewritten.reduce((page, [before, now]) => page.replace(before!, () => now!), guide),
      )
    }
    for (const { title, text } of sectionsOf(await readFile(file, 'utf8'))) {
      const { hook, fields } = entries.find((entry) => entry.name === title)!
      const [, quoted, here] = HOOK.exec(text)!
      assert.deepEqual(JSON.parse((quoted ?? here)!), expandEntry(hook, exampleValues(fields)), title)
      assert.ok(text.startsWith(written(title)), `${title}: run this test with UPDATE=1`)
    }
  })

  function written(title: string): string {
    const { description, instructions, fields } = entries.find((entry) => entry.name === title)!
    const examples: Record<string, string> = exampleValues(fields)
    const steps = instructions
      .replaceAll(
        /<([a-z_]+)>/g,
        (_, field) => `\`${field === 'secret' ? 'secret' : (examples[field] ?? field)}\``,
      )
      .split('\n')
      .map((step, index) => wrap(`${index + 1}. ${step}`, '   '))
    const asked = fields.map((field) => {
      const example = field.hidden ? '' : ` (\`${examples[field.name]}\`)`
      const meaning = field.description.replaceAll('<', '\\<')
      return `${wrap(`- ${field.label}${example}: ${meaning}`, '  ')}\n`
    })
    const list = asked.length === 0 ? '' : `To replace:\n\n${asked.join('')}\n`
    return `## ${title}\n\n${wrap(description)}\n\n${steps.join('\n')}\n\n${list}`
  }
}

function wrap(text: string, indent = ''): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < 115) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(last === undefined ? word : indent + word)
  }
  return lines.join('\n')
}
