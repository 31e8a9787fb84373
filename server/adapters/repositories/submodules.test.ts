import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { cutFile, filesWith, never, openRepositories, temporaryFolder } from './fixtures.ts'
import { startSshHost } from './test-ssh-host.ts'
import { deploy, FETCH, openHost, withSubmodules } from './test-submodules.ts'

const NOTHING_ELSE = ({ '.gitmodules': _, ...files }: Record<string, string>) => files

suite('submodules', { concurrency: 4 }, () => {
  test('their files are in the archive at their paths, as committed, and so are those of theirs', async (t) => {
    const host = await openHost(t)
    const inner = await host.make('inner', { 'deep.txt': 'deep', 'run.sh': { executable: '#!/bin/sh\n' } })
    const lib = await host.make('lib', {
      'lib.txt': 'Zoë',
      'a b/ü.txt': 'd',
      link: { linkTo: 'lib.txt' },
      'kept.txt': 'kept',
      '.gitattributes': 'kept.txt export-ignore\n',
      ...withSubmodules({ 'vendor/inner': inner }),
    })
    const shop = await host.make('shop', {
      'index.html': 'shop',
      'z.txt': 'z',
      ...withSubmodules({ 'packages/lib': lib, 'other path': inner }),
    })
    const gantry = await openRepositories(t)
    const files = await deploy(t, gantry, { repository: shop.url })
    assert.ok(typeof files === 'object', String(files))
    const { '.gitmodules': own, 'packages/lib/.gitmodules': nested, ...others } = files
    assert.match(own! + nested!, /packages\/lib[\s\S]*vendor\/inner/)
    assert.deepEqual(others, {
      'index.html': 'shop',
      'z.txt': 'z',
      'packages/lib/lib.txt': 'Zoë',
      'packages/lib/a b/ü.txt': 'd',
      'packages/lib/link': '-> lib.txt',
      'packages/lib/kept.txt': 'kept',
      'packages/lib/.gitattributes': 'kept.txt export-ignore\n',
      'packages/lib/vendor/inner/deep.txt': 'deep',
      'packages/lib/vendor/inner/run.sh': 'x: #!/bin/sh\n',
      'other path/deep.txt': 'deep',
      'other path/run.sh': 'x: #!/bin/sh\n',
    })
    const short = (hash: string) => hash.slice(0, 8)
    assert.deepEqual(gantry.lines.slice(-3), [
      `The submodule "other path" is at ${short(inner.hash)}`,
      `The submodule "packages/lib" is at ${short(lib.hash)}`,
      `The submodule "packages/lib/vendor/inner" is at ${short(inner.hash)}`,
    ])
  })

  test('a URL relative to the repository, and to that of a submodule, leads to where git would look', async (t) => {
    const folder = await temporaryFolder(t)
    const host = await openHost(t, { folder })
    const inner = await host.make('inner', { 'c.txt': 'c' })
    const lib = await host.make('lib', {
      'b.txt': 'b',
      ...withSubmodules({ in: { ...inner, url: '../inner.git' } }),
    })
    const shop = await host.make('shop', withSubmodules({ lib: { ...lib, url: './../lib.git' } }))
    const gantry = await openRepositories(t)
    const files = await deploy(t, gantry, { repository: shop.url })
    assert.deepEqual(NOTHING_ELSE(files as Record<string, string>), {
      'lib/.gitmodules': '[submodule "in"]\n\tpath = in\n\turl = ../inner.git\n',
      'lib/b.txt': 'b',
      'lib/in/c.txt': 'c',
    })
  })

  test('a branch of the same repository can be a submodule', async (t) => {
    const host = await openHost(t)
    const shop = await host.make('shop', { 'index.html': 'shop' })
    const pages = await shop.commit({ 'page.html': 'page' }, { branch: 'pages' })
    await shop.commit(withSubmodules({ pages: { url: './', hash: pages } }))
    const gantry = await openRepositories(t)
    const files = (await deploy(t, gantry, { repository: shop.url })) as Record<string, string>
    assert.deepEqual(NOTHING_ELSE(files), { 'index.html': 'shop', 'pages/page.html': 'page' })
  })

  test('only those of the root directory are fetched; it may be inside of one', async (t) => {
    const host = await openHost(t)
    const inner = await host.make('inner', { 'x/in.txt': 'in' })
    const lib = await host.make('lib', {
      'lib.txt': 'lib',
      'app/a.txt': 'a',
      ...withSubmodules({ 'app/inner': inner }),
    })
    const unused = await host.make('unused', { a: 'a' })
    const shop = await host.make('shop', {
      'apps/shop/index.html': 'shop',
      ...withSubmodules({ 'apps/shop/lib': lib, 'apps/other': unused }),
    })
    const gantry = await openRepositories(t)
    const filesIn = (rootDirectory: string) =>
      deploy(t, gantry, { repository: shop.url, submodules: { mode: 'fetch', rootDirectory } })
    const { 'lib/.gitmodules': _, ...files } = (await filesIn('./apps/shop/')) as Record<string, string>
    assert.deepEqual(files, {
      'index.html': 'shop',
      'lib/lib.txt': 'lib',
      'lib/app/a.txt': 'a',
      'lib/app/inner/x/in.txt': 'in',
    })
    assert.ok(host.requests.every((line) => !line.includes('unused')))
    assert.deepEqual(await filesIn('apps/shop/lib/app'), { 'a.txt': 'a', 'inner/x/in.txt': 'in' })
    assert.deepEqual(await filesIn('apps/shop/lib/app/inner'), { 'x/in.txt': 'in' })
    assert.deepEqual(await filesIn('apps/shop/lib/app/inner/x'), { 'in.txt': 'in' })
    await assert.rejects(filesIn('apps/shop/lib/nowhere'), /has no folder "nowhere"/)
  })

  test('the attributes of a repository do not change the files of its submodules', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'one\ntwo\n' })
    const attributes = '*.txt text eol=crlf\n'
    const own = { 'a.txt': 'one\ntwo\n', '.gitattributes': attributes }
    const shop = await host.make('shop', { ...own, ...withSubmodules({ lib }) })
    const gantry = await openRepositories(t)
    const files = await deploy(t, gantry, { repository: shop.url })
    assert.deepEqual(NOTHING_ELSE(files as Record<string, string>), {
      '.gitattributes': attributes,
      'a.txt': 'one\r\ntwo\r\n',
      'lib/b.txt': 'one\ntwo\n',
    })
  })

  test('an entry of .gitmodules that is no submodule is ignored, and one with update = none ships empty', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const files = withSubmodules({ lib, optional: { ...lib, url: 'file:///x', more: '\tupdate = none\n' } })
    const shop = await host.make('shop', {
      ...files,
      '.gitmodules': `${files['.gitmodules']}[submodule "gone"]\n\tpath = ../../x\n\turl = file:///etc\n[other]\n\tx = y\n`,
    })
    const gantry = await openRepositories(t)
    const shipped = (await deploy(t, gantry, { repository: shop.url })) as Record<string, string>
    assert.deepEqual(NOTHING_ELSE(shipped), { 'lib/b.txt': 'b' })
    assert.ok(gantry.lines.some((line) => /"optional" is not fetched.*update = none/.test(line)))
  })

  test('a commit on no branch is fetched by its hash', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'first' })
    await lib.removeBranch('main')
    await lib.commit({ 'b.txt': 'another history' })
    const shop = await host.make('shop', withSubmodules({ lib }))
    const gantry = await openRepositories(t)
    const files = (await deploy(t, gantry, { repository: shop.url })) as Record<string, string>
    assert.equal(files['lib/b.txt'], 'first')
  })

  test('ignored ones are named in a warning, and no host is contacted for them', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`many/${n + 10}`, lib]))
    const shop = await host.make('shop', { 'a.txt': 'a', ...withSubmodules({ lib, ...many }) })
    const gantry = await openRepositories(t)
    const ignored = (rootDirectory: string | null) =>
      deploy(t, gantry, { repository: shop.url, submodules: { mode: 'ignore', rootDirectory } })
    assert.deepEqual(Object.keys((await ignored(null)) as object).sort(), ['.gitmodules', 'a.txt'])
    const warning = gantry.lines.at(-1)!
    assert.match(warning, /^Warning: submodules are not fetched, .*: "lib", "many\/10", .* and 2 more\. /)
    assert.match(warning, /set submodules to fetch in the settings of the application\.$/)
    await ignored('many')
    assert.match(gantry.lines.at(-1)!, /: "many\/10", .* and 1 more\. /)
    assert.ok(host.requests.every((line) => line.includes('/shop.git')))
    const plain = await host.make('plain', { 'a.txt': 'a' })
    const before = gantry.lines.length
    await deploy(t, gantry, { repository: plain.url, submodules: { mode: 'ignore', rootDirectory: null } })
    assert.ok(gantry.lines.slice(before).every((line) => !line.startsWith('Warning')))
  })

  test('a run that repeats another takes them from their mirrors; another run asks their hosts again', async (t) => {
    const host = await openHost(t)
    const elsewhere = await openHost(t)
    const lib = await elsewhere.make('lib', { 'b.txt': 'b' })
    const shop = await host.make('shop', withSubmodules({ lib }))
    const hash = shop.hash
    const gantry = await openRepositories(t)
    await deploy(t, gantry, { repository: shop.url })
    const asked = elsewhere.requests.length
    const again = {
      repository: shop.url,
      source: { type: 'commit' as const, ref: hash },
      resolvedBefore: true,
    }
    const files = (await deploy(t, gantry, again)) as Record<string, string>
    assert.equal(files['lib/b.txt'], 'b')
    assert.equal(elsewhere.requests.length, asked)
    await deploy(t, gantry, { repository: shop.url })
    assert.ok(elsewhere.requests.length > asked)
  })

  test('a repeated run fetches what its mirrors lack, without asking for the repository', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const shop = await host.make('shop', withSubmodules({ lib }))
    const gantry = await openRepositories(t)
    const hash = await gantry.hashOf({ repository: shop.url })
    const asked = host.requests.filter((line) => line.includes('/shop.git')).length
    const again = {
      repository: shop.url,
      source: { type: 'commit' as const, ref: hash },
      resolvedBefore: true,
    }
    const files = (await deploy(t, gantry, again)) as Record<string, string>
    assert.equal(files['lib/b.txt'], 'b')
    assert.equal(host.requests.filter((line) => line.includes('/shop.git')).length, asked)
  })

  test('a host that is down does not stop a deploy of commits that were fetched before', async (t) => {
    let isDown = false
    const host = await openHost(t)
    const elsewhere = await openHost(t, {
      before: (_request, response) => {
        if (isDown) response.writeHead(503).end()
        return isDown
      },
    })
    const lib = await elsewhere.make('lib', { 'b.txt': 'b' })
    const shop = await host.make('shop', withSubmodules({ lib }))
    const gantry = await openRepositories(t)
    await deploy(t, gantry, { repository: shop.url })
    isDown = true
    const files = (await deploy(t, gantry, { repository: shop.url })) as Record<string, string>
    assert.equal(files['lib/b.txt'], 'b')
    assert.ok(
      gantry.lines.some((line) => /unavailable right now\. Using the commit from the mirror/.test(line)),
    )
    const next = await lib.commit({ 'b.txt': 'next' })
    await shop.commit(withSubmodules({ lib: { ...lib, hash: next } }))
    assert.equal(
      await deploy(t, gantry, { repository: shop.url }),
      'FAILED The submodule "lib" cannot be fetched. 127.0.0.1 is unavailable right now.',
    )
  })

  test('a commit given by its full hash is deployed with them while no name can be resolved', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const shop = await host.make('shop', withSubmodules({ lib }))
    let isOffline = false
    const gantry = await openRepositories(t, {
      verdict: () => (isOffline ? { kind: 'unreachable', message: 'No DNS.' } : { kind: 'allowed' }),
    })
    const source = { type: 'commit' as const, ref: shop.hash }
    await deploy(t, gantry, { repository: shop.url, source })
    isOffline = true
    const files = (await deploy(t, gantry, { repository: shop.url, source })) as Record<string, string>
    assert.equal(files['lib/b.txt'], 'b')
    await rm(join(gantry.folder, '1'), { recursive: true })
    assert.equal(await deploy(t, gantry, { repository: shop.url, source }), 'FAILED No DNS.')
  })

  test('the token goes to the host of the repository only', async (t) => {
    const token = { username: 'zoe', secret: 'ghp_s3cretT0ken' }
    const elsewhere = await openHost(t)
    const open = await elsewhere.make('open', { 'b.txt': 'b' })
    const host = await openHost(t, { password: token })
    const closed = await host.make('closed', { 'c.txt': 'c' })
    const shop = await host.make(
      'shop',
      withSubmodules({ open, closed: { ...closed, url: '../closed.git' } }),
    )
    const gantry = await openRepositories(t)
    const files = (await deploy(t, gantry, { repository: shop.url, token })) as Record<string, string>
    assert.deepEqual(NOTHING_ELSE(files), { 'open/b.txt': 'b', 'closed/c.txt': 'c' })
    assert.ok(elsewhere.authorizations.length > 0)
    assert.deepEqual(new Set(elsewhere.authorizations), new Set([undefined]))
    assert.ok(host.authorizations.some((header) => header?.startsWith('Basic ')))
    assert.deepEqual(await filesWith(gantry.folder, token.secret), [])
    assert.doesNotMatch(gantry.lines.join('\n'), /s3cret/)
  })

  test('an SSH key opens submodules on its own host', async (t) => {
    const folder = await temporaryFolder(t)
    const files = await openHost(t, { folder })
    const ssh = await startSshHost(t)
    const lib = await files.make('lib', { 'b.txt': 'b' })
    const other = await files.make('other', { 'c.txt': 'c' })
    await files.make(
      'shop',
      withSubmodules({
        lib: { ...lib, url: '../lib.git' },
        other: { ...other, url: `${ssh.url}${folder}/other.git` },
      }),
    )
    const gantry = await openRepositories(t)
    const request = { repository: `${ssh.url}${folder}/shop.git`, sshKey: ssh.privateKey }
    const shipped = (await deploy(t, gantry, request)) as Record<string, string>
    assert.deepEqual(NOTHING_ELSE(shipped), { 'lib/b.txt': 'b', 'other/c.txt': 'c' })
  })

  test('a repository on this machine can have submodules on others', async (t) => {
    const folder = await temporaryFolder(t)
    const host = await openHost(t, { folder })
    const shop = await host.make('shop', { 'a.txt': 'a' })
    const lib = await host.make('lib', { 'b.txt': 'b' })
    await shop.commit(withSubmodules({ lib: { ...lib, url: 'https://git.invalid/lib.git' } }))
    const gantry = await openRepositories(t)
    assert.match(
      String(await deploy(t, gantry, { repository: shop.address })),
      /^FAILED The submodule "lib" cannot be fetched\. The name git\.invalid could not be resolved\.$/,
    )
  })

  test('their mirrors are removed with the application, and when nothing has used them for a month', async (t) => {
    const host = await openHost(t)
    const [old, lib] = [await host.make('old', { a: 'a' }), await host.make('lib', { b: 'b' })]
    const shop = await host.make('shop', withSubmodules({ old }))
    const gantry = await openRepositories(t)
    await deploy(t, gantry, { repository: shop.url })
    await shop.commit({ ...withSubmodules({ lib }), old: null })
    await deploy(t, gantry, { repository: shop.url })
    const folder = join(gantry.folder, '1', 'submodules')
    const names = await readdir(folder)
    assert.equal(names.length, 2)
    const longAgo = new Date(Date.now() - 31 * 24 * 60 * 60 * 1_000)
    for (const name of names) await utimes(join(folder, name), longAgo, longAgo)
    const files = (await deploy(t, gantry, { repository: shop.url })) as Record<string, string>
    assert.equal(files['lib/b'], 'b')
    assert.equal((await readdir(folder)).length, 1)
  })

  test('a mirror of one that lost something fails the archive, and the next fetch repairs it', async (t) => {
    const host = await openHost(t)
    const big = Buffer.from(randomBytes(1_000_000).toString('hex'))
    const lib = await host.make('lib', { 'a.txt': 'a', 'z.bin': big })
    const shop = await host.make('shop', withSubmodules({ lib }))
    const gantry = await openRepositories(t)
    const resolved = await gantry.take({ repository: shop.url, submodules: FETCH })
    assert.ok(resolved.kind === 'resolved')
    const [name] = await readdir(join(gantry.folder, '1', 'submodules'))
    const packs = join(gantry.folder, '1', 'submodules', name!, 'mirror.git', 'objects', 'pack')
    const pack = (await readdir(packs)).find((file) => file.endsWith('.pack'))!
    await cutFile(join(packs, pack), 500_000)
    const { commit, submodules } = resolved
    const request = { applicationId: 1, hash: commit.hash, rootDirectory: null, submodules, signal: never }
    await assert.rejects(gantry.archive(request).toArray(), /^ArchiveError: (Git could not read|The commit)/)
    const files = (await deploy(t, gantry, { repository: shop.url })) as Record<string, string>
    assert.equal(files['lib/z.bin']!.length, big.length)
  })

  test('aborting ends the fetch of one; a fetch that takes too long is explained', async (t) => {
    const held = Promise.withResolvers<void>()
    const host = await openHost(t)
    const silent = await openHost(t, {
      before: () => {
        held.resolve()
        return true
      },
    })
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const url = `${silent.url}/lib.git`
    const shop = await host.make('shop', withSubmodules({ lib: { ...lib, url } }))
    const gantry = await openRepositories(t)
    const controller = new AbortController()
    const request = { repository: shop.url, submodules: FETCH, signal: controller.signal }
    const aborted = assert.rejects(gantry.take(request), /enough/)
    await held.promise
    controller.abort(new Error('enough'))
    await aborted
    // On a busy machine, a short limit may end before the fetch arrives at the submodule.
    let failure: unknown
    for (const seconds of [3, 12, 48]) {
      const hasty = await openRepositories(t, { timeouts: { totalMs: seconds * 1_000 } })
      failure = await deploy(t, hasty, { repository: shop.url })
      if (failure !== `FAILED Fetching the repository took longer than ${seconds} s and was stopped.`) break
    }
    assert.match(
      String(failure),
      /^FAILED Fetching the submodule "lib" took longer than \d+ s and was stopped\.$/,
    )
  })

  test('the addresses that were checked are those that git connects to', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const url = `http://git.invalid:${host.port}/lib.git`
    const shop = await host.make('shop', withSubmodules({ lib: { ...lib, url } }))
    const checked: string[] = []
    const gantry = await openRepositories(t, {
      verdict: (remote) => {
        checked.push(remote.address)
        return { kind: 'allowed', addresses: ['127.0.0.1'] }
      },
    })
    const files = (await deploy(t, gantry, { repository: shop.url })) as Record<string, string>
    assert.equal(files['lib/b.txt'], 'b')
    assert.deepEqual(checked, [shop.url, url])
  })
})
