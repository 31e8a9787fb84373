import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changedFields, differences, inputFor, labelOf } from '#web/base/form/changes.ts'
import { dropDraft, forgetDrafts, readDraft, writeDraft } from '#web/base/form/drafts.ts'
import { blockNavigation, leave, leaveGuard, leavePage } from '#web/base/form/leave-guard.ts'
import { rebase } from '#web/base/form/rebase.ts'

describe('a form', () => {
  it('knows what was changed, also inside of lists', () => {
    const base = { name: 'web', ports: [80, 443], note: null as string | null }
    assert.deepEqual(changedFields(base, { ...base, ports: [80, 443] }), {})
    assert.deepEqual(changedFields(base, { ...base, ports: [443, 80], note: '' }), {
      ports: [443, 80],
      note: '',
    })
  })

  it('shows both versions of what differs', () => {
    const found = differences({ name: 'mine', host: 'a' }, { name: 'theirs', host: 'a' })
    assert.deepEqual(found, [{ field: 'name', mine: 'mine', theirs: 'theirs' }])
  })

  it('shows the error of a part at the input of the whole', () => {
    const inputs = ['name', 'settings.variables', 'settings']
    assert.equal(inputFor('name', inputs), 'name')
    assert.equal(inputFor('settings.variables.3.path', inputs), 'settings.variables')
    assert.equal(inputFor('settings.request_body', inputs), 'settings')
    assert.equal(inputFor('host', inputs), undefined)
  })

  it('names fields as people do', () => {
    assert.equal(labelOf('login_name'), 'Login name')
    assert.equal(labelOf('rootDirectory'), 'Root directory')
  })

  it('keeps unsaved input, but neither secrets nor fields that are gone', () => {
    const initial = { name: '', token: '' }
    writeDraft('draft:1:new', { name: 'GitHub', token: 'secret' }, ['token'])
    assert.deepEqual(readDraft('draft:1:new', initial), { name: 'GitHub' })
    assert.equal(readDraft('draft:1:new', { host: '' }), undefined)
    writeDraft('draft:1:new', { token: 'secret' } as { name?: string; token?: string }, ['token'])
    assert.equal(readDraft('draft:1:new', initial), undefined)
    dropDraft('draft:1:new')
  })

  it('leaves no draft of anybody behind at sign-out', () => {
    writeDraft('draft:1:server-new-1', { name: 'web' }, [])
    forgetDrafts()
    assert.equal(readDraft('draft:1:server-new-1', { name: '' }), undefined)
  })

  it('keeps the drafts of somebody who signs in again, and of nobody else', () => {
    writeDraft('draft:1:server-new', { name: 'web' }, [])
    writeDraft('draft:12:server-new', { name: 'theirs' }, [])
    forgetDrafts({ id: 1 })
    assert.deepEqual(readDraft('draft:1:server-new', { name: '' }), { name: 'web' })
    assert.equal(readDraft('draft:12:server-new', { name: '' }), undefined)
    forgetDrafts()
  })
})

describe('a record that is loaded again', () => {
  const before = { values: { name: 'web', host: 'a' }, version: '1' }
  const theirs = { values: { name: 'web', host: 'b' }, version: '2' }

  it('replaces what nobody has changed, and nothing that somebody is changing', () => {
    assert.deepEqual(rebase(before, before.values, theirs), { base: theirs, values: theirs.values })
    assert.equal(rebase(before, { ...before.values, name: 'mine' }, theirs), undefined)
    assert.equal(rebase(before, before.values, before), undefined)
  })

  it('is no conflict when nothing that the form shows has changed', () => {
    const typed = { ...before.values, name: 'mine' }
    const linked = { ...before, version: '2' }
    assert.deepEqual(rebase(before, typed, linked), { base: linked, values: typed })
  })

  it('is not taken over silently while the person is changing a secret', () => {
    const typed = { ...before.values, name: 'mine' }
    const changed = { ...before, version: '2' }
    assert.equal(rebase(before, typed, changed, ['name']), undefined)
    assert.deepEqual(rebase(before, typed, changed, ['host']), { base: changed, values: typed })
    assert.deepEqual(rebase(before, before.values, changed, ['name']), {
      base: changed,
      values: before.values,
    })
  })

  it('is no conflict when the form saved it itself and the person typed on', () => {
    const saved = { values: { name: 'mine ', host: 'a' }, version: '1', older: '1', isSaved: true }
    const stored = { values: { name: 'mine', host: 'b' }, version: '2' }
    assert.deepEqual(rebase(saved, { name: 'mine too', host: 'a' }, stored), {
      base: stored,
      values: { name: 'mine too', host: 'b' },
    })
    // Somebody else was faster than the form could load its own version.
    const other = { values: { name: 'theirs', host: 'a' }, version: '3' }
    assert.equal(rebase(saved, { name: 'mine too', host: 'a' }, other), undefined)
  })

  it('does not replace what was loaded after it', () => {
    const taken = { ...theirs, older: before.version }
    assert.equal(rebase(taken, taken.values, before), undefined)
  })
})

describe('leaving with unsaved changes', () => {
  it('asks, and forgets what every form of the page keeps only after the answer', () => {
    const forgotten: string[] = []
    const forms = ['settings', 'step'].map((name) => blockNavigation(() => forgotten.push(name)))
    let isGone = false
    leavePage(() => {
      isGone = true
    })
    assert.ok(leaveGuard.isPending())
    assert.deepEqual([forgotten, isGone], [[], false])
    leaveGuard.confirm()
    assert.deepEqual([forgotten, isGone], [['settings', 'step'], true])
    for (const release of forms) release()
  })

  it('still asks about the page after a dialog above it was closed', () => {
    const releasePage = blockNavigation()
    const releaseDialog = blockNavigation()
    leave(releaseDialog)
    leaveGuard.confirm()
    leavePage(() => {})
    assert.ok(leaveGuard.isPending())
    leaveGuard.dismiss()
    releasePage()
  })
})
