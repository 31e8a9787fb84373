// What a push can put into a repository, and what a host can answer: the run ends, and names the submodule.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { openRepositories, temporaryFolder } from './fixtures.ts'
import { startSshHost } from './test-ssh-host.ts'
import { deploy, type GitHost, type HostedRepository, openHost, withSubmodules } from './test-submodules.ts'

type Closer = Parameters<typeof openHost>[0]

const ONLY = 'Submodules are fetched over https and ssh only.'
const cannot = (path: string, reason: string) => `FAILED The submodule "${path}" cannot be fetched. ${reason}`

/** A shop with one submodule, `lib`, which has that URL. */
async function shopWith(t: Closer, url: (host: GitHost) => string) {
  const host = await openHost(t)
  const lib = await host.make('lib', { 'b.txt': 'b' })
  const shop = await host.make('shop', withSubmodules({ lib: { ...lib, url: url(host) } }))
  return { host, lib, shop }
}

suite('a submodule', { concurrency: 4 }, () => {
  test('with a URL of this machine, of another protocol, or of a program is not fetched', async (t) => {
    const { host, lib, shop } = await shopWith(t, () => 'x')
    const gantry = await openRepositories(t)
    for (const url of [
      lib.address,
      lib.folder,
      'file:///etc',
      'FILE:///etc',
      'lib.git',
      'acme/lib',
      `git://127.0.0.1:${host.port}/lib.git`,
      `ftp://127.0.0.1:${host.port}/lib.git`,
      `ext::git upload-pack ${lib.folder}`,
      'fd::7',
    ]) {
      await shop.commit(withSubmodules({ lib: { ...lib, url } }))
      assert.equal(await deploy(t, gantry, { repository: shop.url }), cannot('lib', ONLY), url)
    }
    assert.deepEqual(await readdir(join(gantry.folder, '1')), ['mirror.git'])
  })

  test('with a URL that is an option, or invalid, is not fetched', async (t) => {
    const { lib, shop } = await shopWith(t, () => 'x')
    const gantry = await openRepositories(t)
    const withUrl = async (url: string) => {
      await shop.commit(withSubmodules({ lib: { ...lib, url } }))
      return deploy(t, gantry, { repository: shop.url })
    }
    assert.equal(
      await withUrl('https://zoe:s3cret@git.invalid/lib.git'),
      cannot('lib', 'The repository address contains a password: store it in a credential instead.'),
    )
    assert.equal(
      await withUrl('https://git.invalid'),
      cannot('lib', 'The repository address has a host but no repository.'),
    )
    // Git itself rejects these when it fetches the repository.
    for (const url of ['-uevil', '--upload-pack=evil', 'ssh://-oProxyCommand=evil/lib.git'])
      assert.match(
        String(await withUrl(url)),
        /^FAILED (Git considers the repository unsafe|The submodule "lib")/,
      )
  })

  test('over http is fetched only if the repository is, too', async (t) => {
    const { lib, shop } = await shopWith(t, () => 'x')
    await shop.commit(withSubmodules({ lib }))
    const gantry = await openRepositories(t)
    assert.equal(
      await deploy(t, gantry, { repository: shop.address }),
      cannot('lib', `Its URL begins with http://. ${ONLY}`),
    )
  })

  test('with a relative URL never leads to a folder of this machine', async (t) => {
    const { shop } = await shopWith(t, () => '../lib.git')
    const gantry = await openRepositories(t)
    assert.equal(
      await deploy(t, gantry, { repository: shop.address }),
      cannot('lib', `Its URL is relative to a folder on the machine that runs Gantry. ${ONLY}`),
    )
  })

  test('with a relative URL that leads out of the host is not fetched', async (t) => {
    const { host, lib, shop } = await shopWith(t, () => '../../../git.invalid/x')
    const gantry = await openRepositories(t)
    const reason = `Its relative URL leads out of 127.0.0.1:${host.port}.`
    for (const url of ['../../x', '../lib.git/../../x', '../..']) {
      await shop.commit(withSubmodules({ lib: { ...lib, url } }))
      assert.equal(await deploy(t, gantry, { repository: shop.url }), cannot('lib', reason), url)
    }
  })

  test('on a host that does not exist, or that is not allowed, is explained', async (t) => {
    const { host, lib, shop } = await shopWith(t, () => 'https://nowhere.invalid/lib.git')
    const gantry = await openRepositories(t)
    assert.equal(
      await deploy(t, gantry, { repository: shop.url }),
      cannot('lib', 'The name nowhere.invalid could not be resolved.'),
    )
    await shop.commit(withSubmodules({ lib }))
    const asked = host.requests.length
    const strict = await openRepositories(t, {
      verdict: ({ path }) =>
        path === '/lib.git' ? { kind: 'refused', message: 'It is a private address.' } : { kind: 'allowed' },
    })
    assert.equal(await deploy(t, strict, { repository: shop.url }), cannot('lib', 'It is a private address.'))
    assert.ok(host.requests.slice(asked).every((line) => !line.includes('/lib.git')))
  })

  test('without an entry in .gitmodules is named, with what to do', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const shop = await host.make('shop', { 'vendor/lib': { submoduleAt: lib.hash } })
    const gantry = await openRepositories(t)
    const expected = cannot(
      'vendor/lib',
      'The file .gitmodules has no URL for this path: add it there, or remove the submodule with git rm --cached.',
    )
    assert.equal(await deploy(t, gantry, { repository: shop.url }), expected)
    await shop.commit({ '.gitmodules': '[submodule "lib"]\n\tpath = vendor/lib\n' })
    assert.equal(await deploy(t, gantry, { repository: shop.url }), expected)
    await shop.commit({ '.gitmodules': '[submodule "lib"\n' })
    assert.match(String(await deploy(t, gantry, { repository: shop.url })), /^FAILED .*gitmodules/i)
  })

  test('whose commit its host does not have is named with that commit', async (t) => {
    const { lib, shop } = await shopWith(t, () => 'x')
    const hash = 'f'.repeat(40)
    await shop.commit(withSubmodules({ lib: { ...lib, hash } }))
    const gantry = await openRepositories(t)
    assert.equal(
      await deploy(t, gantry, { repository: shop.url }),
      cannot(
        'lib',
        `${lib.url} does not have its commit ${hash}. Push that commit, or update the submodule.`,
      ),
    )
  })

  test('whose host asks for a password ends the run, and says where the credential goes', async (t) => {
    const host = await openHost(t)
    const elsewhere = await openHost(t, { password: { username: 'zoe', secret: 'other' } })
    const lib = await elsewhere.make('lib', { 'b.txt': 'b' })
    const shop = await host.make('shop', withSubmodules({ lib }))
    const gantry = await openRepositories(t)
    const reason = 'The repository does not exist on 127.0.0.1, or requires a credential.'
    assert.equal(await deploy(t, gantry, { repository: shop.url }), cannot('lib', reason))
    const token = { username: 'zoe', secret: 'ghp_s3cretT0ken' }
    assert.equal(
      await deploy(t, gantry, { repository: shop.url, token }),
      cannot('lib', `${reason} The application's credential is sent to 127.0.0.1:${host.port} only.`),
    )
    assert.deepEqual(new Set(elsewhere.authorizations), new Set([undefined]))
  })

  test('whose host redirects to another is not fetched from there, and no token goes there', async (t) => {
    const token = { username: 'zoe', secret: 'ghp_s3cretT0ken' }
    const trap = await openHost(t)
    const lib = await trap.make('lib', { 'b.txt': 'b' })
    const host = await openHost(t, {
      password: token,
      before: (request, response) => {
        if (!request.url!.startsWith('/lib.git')) return false
        response.writeHead(302, { location: `${trap.url}${request.url}` }).end()
        return true
      },
    })
    const url = `${host.url}/lib.git`
    const shop = await host.make('shop', withSubmodules({ lib: { ...lib, url } }))
    const gantry = await openRepositories(t)
    const reason = `127.0.0.1 says that the repository moved from ${url}: enter its new URL.`
    assert.equal(await deploy(t, gantry, { repository: shop.url, token }), cannot('lib', reason))
    assert.deepEqual(trap.requests, [])
  })

  test('over ssh on another host, or without a key, is not fetched, and the key goes nowhere', async (t) => {
    const folder = await temporaryFolder(t)
    const host = await openHost(t, { folder })
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const [ssh, other] = [await startSshHost(t), await startSshHost(t)]
    const shop = await host.make(
      'shop',
      withSubmodules({ lib: { ...lib, url: `${other.url}${folder}/lib.git` } }),
    )
    const gantry = await openRepositories(t)
    const hint = 'Use an https URL, or one relative to the repository, such as ../lib.git.'
    assert.equal(
      await deploy(t, gantry, { repository: `${ssh.url}${folder}/shop.git`, sshKey: ssh.privateKey }),
      cannot(
        'lib',
        `127.0.0.1:${other.port} requires an SSH key, and the application's credential is only for 127.0.0.1:${ssh.port}. ${hint}`,
      ),
    )
    const token = { username: 'zoe', secret: 'ghp_s3cretT0ken' }
    assert.equal(
      await deploy(t, gantry, { repository: shop.url, token, applicationId: 2 }),
      cannot(
        'lib',
        `127.0.0.1:${other.port} requires an SSH key, and the application's repository is not fetched over ssh. ${hint}`,
      ),
    )
    // Nothing was ever pinned: no connection was opened.
    assert.deepEqual((await readdir(join(gantry.folder, '2'))).sort(), ['mirror.git'])
  })

  test('can be nested five levels deep, and no deeper', async (t) => {
    const host = await openHost(t)
    const chain: HostedRepository[] = [await host.make('level-7', { 'end.txt': 'end' })]
    for (let level = 6; level >= 1; level--)
      chain.unshift(await host.make(`level-${level}`, withSubmodules({ in: chain[0]! })))
    const gantry = await openRepositories(t)
    const five = (await deploy(t, gantry, { repository: chain[1]!.url })) as Record<string, string>
    assert.equal(five['in/in/in/in/in/end.txt'], 'end')
    assert.equal(
      await deploy(t, gantry, { repository: chain[0]!.url, applicationId: 2 }),
      cannot('in/in/in/in/in/in', 'Submodules can be nested at most 5 levels deep.'),
    )
  })

  test('that contains itself, or one that contains it, ends at that depth', async (t) => {
    const host = await openHost(t)
    const loop =
      'Submodules can be nested at most 5 levels deep. A repository on the way there contains itself.'
    const own = await host.make('own', { a: 'a' })
    for (let times = 0, hash = own.hash; times < 6; times++)
      hash = await own.commit(withSubmodules({ me: { url: './', hash } }))
    const gantry = await openRepositories(t)
    assert.equal(await deploy(t, gantry, { repository: own.url }), cannot('me/me/me/me/me/me', loop))
    const [one, two] = [await host.make('one', { a: 'a' }), await host.make('two', { b: 'b' })]
    let hash = one.hash
    for (let times = 0; times < 3; times++) {
      const inner = await two.commit(withSubmodules({ one: { ...one, hash } }))
      hash = await one.commit(withSubmodules({ two: { ...two, hash: inner } }))
    }
    assert.equal(
      await deploy(t, gantry, { repository: one.url, applicationId: 2 }),
      cannot('two/one/two/one/two/one', loop),
    )
  })

  test('is one of at most fifty, nested ones included, and nothing is fetched beyond', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { a: 'a' })
    const many = (count: number) =>
      withSubmodules(Object.fromEntries(Array.from({ length: count }, (_, n) => [`m/${n + 100}`, lib])))
    const shop = await host.make('shop', many(60))
    const gantry = await openRepositories(t)
    const reason = 'A release can have at most 50 submodules, nested ones included.'
    assert.equal(await deploy(t, gantry, { repository: shop.url }), cannot('m/150', reason))
    assert.ok(host.requests.every((line) => line.includes('/shop.git')))
    const half = await host.make('half', many(25))
    const both = await host.make('both', withSubmodules({ one: half, two: half }))
    assert.equal(
      await deploy(t, gantry, { repository: both.url, applicationId: 2 }),
      cannot('two/m/123', reason),
    )
  })

  test('whose path goes through a link, or is one to some file systems, is not deployed', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const gantry = await openRepositories(t)
    const folded = await host.make('folded', {
      Vendor: { linkTo: '/etc' },
      ...withSubmodules({ 'vendor/lib': lib }),
    })
    assert.equal(
      await deploy(t, gantry, { repository: folded.url }),
      'FAILED The submodule "vendor/lib" has a path that goes through the symbolic link "Vendor".',
    )
    // A tree that git never writes: a link and a folder with the same name.
    const shop = await host.make('shop', withSubmodules({ 'lib/x': lib }))
    const [blob, tree] = await Promise.all([
      shop.git(['hash-object', '-w', '--stdin'], '/etc'),
      shop.git(['rev-parse', 'main:lib']),
    ])
    const modules = await shop.git(['rev-parse', 'main:.gitmodules'])
    const entries = [
      `100644 blob ${modules}\t.gitmodules`,
      `120000 blob ${blob}\tlib`,
      `040000 tree ${tree}\tlib`,
    ]
    const root = await shop.git(['mktree'], `${entries.join('\n')}\n`)
    await shop.branch('main', await shop.git(['commit-tree', '-m', 'A trap', root]))
    assert.match(
      String(await deploy(t, gantry, { repository: shop.url, applicationId: 2 })),
      /^FAILED Git considers the repository unsafe or corrupt: .*(duplicateEntries|contains duplicate)/,
    )
  })

  test('counts toward the size of the source; what is too large does not stay', async (t) => {
    const host = await openHost(t)
    const small = await host.make('small', { 'a.bin': randomBytes(300_000) })
    const large = await host.make('large', { 'b.bin': randomBytes(3_000_000) })
    const shop = await host.make('shop', withSubmodules({ small, large }))
    const fits = await openRepositories(t, { maxBytes: 5_000_000 })
    const files = (await deploy(t, fits, { repository: shop.url })) as Record<string, string>
    assert.deepEqual(Object.keys(files).sort(), ['.gitmodules', 'large/b.bin', 'small/a.bin'])
    const strict = await openRepositories(t, { maxBytes: 2 * 1024 * 1024 })
    const reason = 'The repository and its submodules together are larger than 2 MiB (GANTRY_MAX_SOURCE).'
    assert.equal(await deploy(t, strict, { repository: shop.url }), cannot('large', reason))
    assert.equal((await readdir(join(strict.folder, '1', 'submodules'))).length, 0, 'small comes after large')
    // The repository counts, too.
    await shop.commit({ 'own.bin': randomBytes(2_500_000), large: null, ...withSubmodules({ small }) })
    assert.equal(await deploy(t, strict, { repository: shop.url }), cannot('small', reason))
  })

  test('with a path in another encoding, or with control characters, is not deployed', async (t) => {
    const host = await openHost(t)
    const lib = await host.make('lib', { 'b.txt': 'b' })
    const gantry = await openRepositories(t)
    const shop = await host.make('shop', { 'a.txt': 'a' })
    await shop.commit({ '"a\\nb"': { submoduleAt: lib.hash } })
    assert.equal(
      await deploy(t, gantry, { repository: shop.url }),
      'FAILED The submodule "a\\u{a}b" has a path that contains characters that are not allowed.',
    )
  })
})
