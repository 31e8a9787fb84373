import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { makePortable } from './portable-schemas.ts'
import { Exactly, Name } from './schemas.ts'
import { createValidatorCompiler } from './validation.ts'

suite('portable schemas', () => {
  test('the published pattern of names accepts every name that validation accepts', () => {
    const name = Name() as { pattern?: string }
    const strict = new RegExp(name.pattern!, 'u')
    const published = new RegExp(makePortable(name).pattern!)
    assert.doesNotMatch(published.source, /\\[pu]/)
    const character = fc.oneof(fc.constantFrom(' ', '-', 'a', '\u00a0', '\u0301', '\u202e', '\n', '\u0085'))
    const text = fc.string({ unit: fc.oneof(character, fc.string({ unit: 'binary', maxLength: 1 })) })
    fc.assert(
      fc.property(text, (name) => !strict.test(name) || published.test(name)),
      { numRuns: 2_000 },
    )
    for (const name of ['', '  ', 'a\nb', '\u0085'])
      assert.ok(!strict.test(name) && !published.test(name), JSON.stringify(name))
  })

  test('validation stays as strict as before', () => {
    const schema = Exactly({ name: Name() })
    const validate = createValidatorCompiler([])({ schema, httpPart: 'body' })
    const accepts = (name: string) => 'value' in validate({ name })
    for (const name of ['Deploy', '发布', '__proto__', '- a']) assert.ok(accepts(name), name)
    // A direction override, a line separator, and nothing that is visible.
    for (const name of ['a\u202eb', 'a\u2028b', '\u00a0', '\u200b'])
      assert.ok(!accepts(name), JSON.stringify(name))
  })

  test('a schema for several types becomes one for each, with the keywords that belong to it', () => {
    const schema = {
      type: ['integer', 'string', 'null'],
      minimum: 1,
      pattern: '^a$',
      'x-portable-pattern': '^b$',
      description: 'Both.',
      default: 1,
    }
    assert.deepEqual(makePortable(schema), {
      anyOf: [{ type: 'integer', minimum: 1 }, { type: 'string', pattern: '^b$' }, { type: 'null' }],
      description: 'Both.',
      default: 1,
    })
  })

  test('values, and fields that are named like keywords, stay as they are', () => {
    const schema = {
      type: 'object',
      properties: { type: { type: 'string', enum: ['a'] }, pattern: { type: ['string', 'null'] } },
      examples: [{ type: ['integer', 'string'], 'x-portable-pattern': 'x' }],
      default: { type: ['integer', 'string'] },
    }
    assert.deepEqual(makePortable(schema), schema)
  })
})
