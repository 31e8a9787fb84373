// Messages of presets at Slack and Discord: one per run, updated until the run ends.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { COMPLETED, FAILED, IN_PROGRESS, openDeliveries } from '#test/support/deliveries.ts'
import { newCommit, openPreset, permalink, presetOf, RUNS } from '#test/support/presets.ts'
import { startDiscord } from '#test/support/services/discord.ts'
import { ANSWER_LOST, answering } from '#test/support/services/failures.ts'
import type { Json } from '#test/support/services/service.ts'
import { startSlack } from '#test/support/services/slack.ts'
import { untilTrue } from '#test/support/until.ts'
import { createTestTree, type TestTree } from '#test/support/world.ts'

const all = { after }
const world = await openDeliveries(all)
const { db, move, request, startAction } = world
const slack = await startSlack(all)
const discord = await startDiscord(all)

type View = { headline: string; color: string; fields: Record<string, string>; link: string }

/** A chat, and how its messages look, each in the same words. */
const CHATS = {
  slack_message: {
    chat: slack,
    remove: () => slack.remove(slack.messages.at(-1)!.ts),
    editsOf: () => slack.messages.map(({ edits }) => edits),
    view({ text, attachments: [{ color, blocks }] }: Json): View {
      const fields = blocks[0].fields.map(({ text }: Json) => text.split(/: (.*)/s).slice(0, 2))
      const link = /^<(.*)\|Run \d+>$/.exec(blocks[1].elements[0].text)![1]!
      return { headline: text, color, fields: Object.fromEntries(fields), link }
    },
  },
  discord_message: {
    chat: discord,
    remove: () => discord.remove(discord.messages.at(-1)!.id),
    editsOf: () => discord.messages.map(({ edits }) => edits),
    view({ embeds: [{ title, url, color, fields }] }: Json): View {
      const named = fields.map(({ name, value }: Json) => [name, value])
      const hex = `#${color.toString(16).padStart(6, '0')}`
      return { headline: title, color: hex, fields: Object.fromEntries(named), link: url }
    },
  },
}
type Kind = keyof typeof CHATS
const KINDS = Object.keys(CHATS) as Kind[]

async function open(kind: Kind) {
  const { chat, ...more } = CHATS[kind]
  chat.messages.length = 0
  return { chat, ...more, ...(await openPreset(world, chat, presetOf(kind))) }
}

async function rename({ applicationId, pipelineId, environmentId }: TestTree, name: string): Promise<void> {
  await db.updateTable('applications').set({ name }).where('id', '=', applicationId).execute()
  await db.updateTable('pipelines').set({ name }).where('id', '=', pipelineId).execute()
  await db.updateTable('environments').set({ name }).where('id', '=', environmentId).execute()
}

const notification = async (id: number, { owner }: TestTree) =>
  (await request('GET', `/actions/${id}/notifications`, { token: owner.token })).body[0]

for (const kind of KINDS)
  suite(`a ${kind}`, () => {
    test('is one per run, which is updated until it says how the run ended', async () => {
      const { chat, view, editsOf, tree, hook } = await open(kind)
      await rename(tree, 'Shop')
      const ends = {
        completed: ['✅ Shop, Shop: Completed', '#2eb67d'],
        failed: ['❌ Shop, Shop: Failed', '#e01e5a'],
        canceled: ['❌ Shop, Shop: Canceled by a user', '#e01e5a'],
        skipped: ['⏭️ Shop, Shop: Skipped', '#9e9e9e'],
      }
      for (const [name, [headline, color]] of Object.entries(ends)) {
        chat.messages.length = 0
        const commit = newCommit()
        const id = await startAction(tree, { commit })
        await untilTrue(() => chat.messages.length > 0)
        await world.untilIdle(hook.id)
        const first = view(chat.messages[0])
        assert.deepEqual([first.headline, first.color], ['🕒 Shop, Shop: Queued', '#9e9e9e'])
        const states = RUNS[name as keyof typeof RUNS]
        await move(id, ...states.slice(0, -1))
        await untilTrue(() => editsOf()[0] === states.length - 1)
        await sql`update actions set started_at = started_at - interval '75 seconds' where id = ${id}`.execute(
          db,
        )
        await move(id, ...states.slice(-1))
        await world.untilIdle(hook.id)
        assert.deepEqual(editsOf(), [states.length], name)
        const last = view(chat.messages[0])
        assert.deepEqual([last.headline, last.color, last.link], [headline, color, permalink(id)])
        assert.match(last.fields.Duration!, name === 'skipped' ? /^–$/ : /^1 min 1\d s$/)
        const { Pipeline, 'Started by': startedBy, Commit } = last.fields
        assert.deepEqual([Pipeline, startedBy, Commit!.trim()], ['Shop', 'somebody', commit.slice(0, 10)])
      }
    })

    test('that was deleted is posted once more and updated; deleted again, it stays away', async () => {
      const { chat, view, remove, editsOf, tree, hook } = await open(kind)
      for (const isRemovedAgain of [false, true]) {
        chat.messages.length = 0
        const id = await startAction(tree)
        await world.untilIdle(hook.id)
        remove()
        await move(id, IN_PROGRESS)
        await world.untilIdle(hook.id)
        assert.deepEqual([editsOf(), view(chat.messages[0]).color], [[0], '#ecb22e'])
        if (isRemovedAgain) remove()
        await move(id, COMPLETED)
        await world.untilIdle(hook.id)
        const { state, last_error } = await notification(id, tree)
        assert.deepEqual([state, editsOf()], isRemovedAgain ? ['failed', []] : ['delivered', [1]])
        if (isRemovedAgain) assert.match(last_error, /no longer exists/)
      }
      assert.equal((await world.health(hook.id))?.failing_since ?? null, null, 'the chat itself works')
    })

    test('shows texts of others as they are: nobody is mentioned, nothing is evaluated', async () => {
      const { chat, view, tree, hook } = await open(kind)
      const hostile =
        '<!channel> <@U1> @everyone *b* [x](http://e.test) `c` {{ 7 | times: 6 }} <b>&amp;</b> "q" \\ 🚀\n#'
      await rename(tree, hostile)
      const id = await startAction(tree)
      const commit = JSON.stringify({ hash: newCommit(), message: `${hostile}${'ü'.repeat(3_000)}` })
      await db.updateTable('actions').set({ commit, trigger_name: hostile }).where('id', '=', id).execute()
      await world.untilIdle(hook.id)
      await move(id, FAILED)
      await world.untilIdle(hook.id)
      const { headline, fields } = view(chat.messages[0])
      assert.deepEqual([fields.Pipeline, fields['Started by']], [hostile, hostile])
      assert.ok(fields.Commit!.includes(hostile) && fields.Commit!.endsWith('...'))
      const escaped = hostile.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
      const shown = kind === 'slack_message' ? escaped : hostile
      assert.ok(headline.startsWith(`❌ ${shown}, `), headline)
      for (const { json } of chat.requests.slice(-2)) assertMentionsNobody(kind, json)
      // As long as names can be.
      await rename(tree, '🚀'.repeat(255))
      await move(await startAction(tree), IN_PROGRESS, FAILED)
      const deliveries = await world.untilIdle(hook.id)
      assert.deepEqual(new Set(deliveries.map(({ state }) => state)), new Set(['delivered']))
    })
  })

/** Slack reads mentions in `text` and `mrkdwn`; Discord everywhere, unless it is forbidden. */
function assertMentionsNobody(kind: Kind, json: Json): void {
  if (kind === 'discord_message') {
    assert.deepEqual([json.allowed_mentions, json.content], [{ parse: [] }, undefined])
    return
  }
  const { text, parse, link_names, attachments } = json
  assert.deepEqual([parse, link_names, /[<>]/.test(text)], ['none', false, false])
  const [section, context] = attachments[0].blocks
  assert.ok(section.fields.every(({ type }: Json) => type === 'plain_text'))
  assert.match(context.elements[0].text, /^<http:\/\/gantry\.test\/app\/actions\/\d+\|Run \d+>$/)
}

test('a pipeline of a server is reported, too, under its own name', async () => {
  for (const kind of KINDS) {
    const { chat, view } = CHATS[kind]
    chat.messages.length = 0
    const tree = await createTestTree(db)
    const ofServer = { ...tree, pipelineId: tree.serverPipelineId }
    const { hook } = await openPreset(world, chat, presetOf(kind), { tree: ofServer })
    await move(await startAction(ofServer, {}, 'restart'), IN_PROGRESS, COMPLETED)
    await world.untilIdle(hook.id)
    const { headline, fields } = view(chat.messages[0])
    assert.match(headline, /^✅ Restart, Environment \d+: Completed$/)
    assert.equal(fields.Commit, '–')
  }
})

suite('an answer that is lost', () => {
  test('leaves one message at Discord, which knows the nonce, and a second one at Slack', async () => {
    for (const [kind, expected] of [
      ['discord_message', [1]],
      ['slack_message', [0, 1]],
    ] as const) {
      const { chat, editsOf, tree, hook } = await open(kind)
      chat.fail(ANSWER_LOST)
      const id = await startAction(tree)
      await world.recorded(hook.id, 1)
      await world.passTime(hook.id, 10)
      await world.recorded(hook.id, 2)
      await world.untilIdle(hook.id)
      await move(id, IN_PROGRESS)
      await world.untilIdle(hook.id)
      assert.deepEqual(editsOf(), expected, kind)
    }
  })
})

suite('Slack answers 200', () => {
  const sent = async (prepare: () => void) => {
    const { tree, hook } = await open('slack_message')
    prepare()
    const id = await startAction(tree)
    const [record] = await world.recorded(hook.id, 1)
    await world.untilIdle(hook.id)
    return { record: record!, shown: await notification(id, tree) }
  }

  test('and rejects the message: the delivery has failed, and says why', async () => {
    const rejected = answering(200, { ok: false, error: 'not_in_channel' })
    const { record, shown } = await sent(() => slack.fail(rejected))
    assert.deepEqual([record.response_status_code, record.outcome], [200, 'refused'])
    assert.equal(record.next_attempt_at, null)
    assert.equal(record.error, 'Slack rejected the message: not_in_channel.')
    assert.deepEqual([shown.state, shown.last_error], ['failed', record.error])
  })

  test('and has an error of its own: it is tried again', async () => {
    const broken = answering(200, { ok: false, error: 'internal_error' })
    const { record, shown } = await sent(() => slack.fail(broken))
    assert.equal(record.error, 'Slack rejected the message: internal_error.')
    assert.deepEqual([shown.state, shown.last_error], ['retrying', record.error])
  })
})
