// From a signed call to files on servers: Gantry as a separate process, real git, a real sshd.
import assert from 'node:assert/strict'
import { readFile, readlink, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { serveGit } from '#adapters/repositories/test-git-server.ts'
import { pruneOldData } from '#ops/retention/prune.ts'
import { deployWith } from '#test/support/inventory.ts'
import { liveFile, liveRelease, releasesIn } from '#test/support/releases.ts'
import { makeRepository } from '#test/support/repository.ts'
import { type Deployable, openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'

const all = { after }
const world = await openRunWorld(all)
const sshd = await startSshd(all)
const { makeDeployable, makeHook, fire, run, completed, endedWith, logOf, ask } = world

suite('runs', { concurrency: true }, () => {
  test('calls behind many others run one after the other, in their order', async () => {
    const { pipelineId } = await world.makeCustom([{ name: 'nothing', command: 'true' }])
    const hook = await makeHook(pipelineId)
    const ids = []
    for (let n = 0; n < 20; n += 1) ids.push(await fire(hook))
    const ends = []
    for (const id of ids) ends.push((await completed(id)).completed_at as string)
    assert.deepEqual(ends.toSorted(), ends)
  })

  suite('a deploy', { concurrency: true }, () => {
    test('a signed call deploys to both servers, and users can roll back and forth', async (t) => {
      const repository = await makeRepository(t, { files: { 'index.html': 'one' } })
      const shop = await makeDeployable({
        repository: repository.address,
        servers: await Promise.all([0, 1].map((account) => world.newSshServer(sshd, account))),
      })
      const hook = await makeHook(shop.pipelineId, 'branch')
      const live = () => Promise.all(shop.bases.map(liveRelease))
      const shown = () => Promise.all(shop.bases.map((base) => liveFile(base, 'index.html')))

      /** From a new request: one that overlaps with the end of a run may still show the previous release. */
      const lastDeployments = async (id: number) => {
        const { latest, live } = (await world.show(id)).resource.data.last_deployments
        return [latest.id, live.id]
      }

      const first = await completed(await fire(hook, { branch: 'refs/heads/main' }))
      const firstName = first.action_data.release_name
      assert.match(firstName, /^\d{14}-[0-9a-f]{8}$/)
      assert.deepEqual(await live(), [firstName, firstName])
      assert.deepEqual(await shown(), ['one', 'one'])
      const { commit, deployment } = first.action_data
      assert.equal(commit.hash, await repository.git(['rev-parse', 'main']))
      assert.deepEqual([commit.message, commit.author_email], ['Say hello', 'zoe@example.com'])
      assert.deepEqual([deployment.source_type, deployment.source_ref], ['branch', 'main'])
      assert.deepEqual(first.triggered_from.hook_parsed_variables, { branch: 'refs/heads/main' })
      assert.equal(first.summary.targets.completed, 2)

      await repository.commit({ 'index.html': 'two' })
      const second = await completed(await fire(hook, { branch: 'refs/heads/main' }))
      assert.deepEqual(await shown(), ['two', 'two'])
      assert.deepEqual(await lastDeployments(second.id), [second.id, second.id])

      const back = await completed(await run(shop.pipelineId, { type: 'rollback' }))
      assert.deepEqual(await live(), [firstName, firstName])
      assert.deepEqual(await shown(), ['one', 'one'])
      assert.equal(back.action_data.release_name, firstName)
      assert.match(await logOf(back.id, 'get-new-release'), /still on the server/)

      const forth = { type: 'rollback', release_name: second.action_data.release_name }
      await completed(await run(shop.pipelineId, forth))
      assert.deepEqual(await shown(), ['two', 'two'])
      await completed(await run(shop.pipelineId, { ...forth, release_name: firstName }))
      assert.deepEqual(await shown(), ['one', 'one'])

      const again = await completed(await run(shop.pipelineId, { type: 'redeploy' }))
      assert.deepEqual(await shown(), ['one', 'one'])
      assert.notEqual(again.action_data.release_name, firstName)
      assert.equal(again.action_data.commit.hash, commit.hash)
      assert.deepEqual(await lastDeployments(again.id), [again.id, again.id])

      const retried = await ask('POST', `/actions/${second.id}/retry`, {})
      assert.equal((await completed(retried.body.id)).retry_of, second.id)
      assert.deepEqual(await shown(), ['two', 'two'], 'the commit of then')
    })

    test('many servers share one fetch', async (t) => {
      const repository = await makeRepository(t, { files: { 'index.html': 'one' } })
      const host = await serveGit(t, { folder: dirname(repository.folder) })
      const shop = await makeDeployable({ repository: `${host.url}/shop.git`, servers: 5 })
      const fetches = () => host.requests.filter((line) => line.startsWith('GET /shop.git/info/refs')).length
      await completed(await run(shop.pipelineId))
      assert.equal(fetches(), 1)
      await repository.commit({ 'index.html': 'two' })
      const second = await completed(await run(shop.pipelineId))
      assert.equal(fetches(), 2, 'the next run asks anew')
      for (const base of shop.bases) assert.equal(await liveFile(base, 'index.html'), 'two')
      const logs = await Promise.all(
        shop.bases.map((_, position) => logOf(second.id, 'get-new-release', position)),
      )
      assert.equal(logs.filter((log) => log.includes('Fetching ')).length, 1)
      for (const log of logs) assert.ok(log.includes(second.action_data.commit.hash.slice(0, 8)), log)
    })

    for (const { title, hasMirror } of [
      { title: 'also reaches servers whose turn comes later', hasMirror: true },
      { title: 'is fetched by its hash where it is not in the mirror', hasMirror: false },
    ])
      test(`a commit that was forced off its branch ${title}`, async (t) => {
        const repository = await makeRepository(t, { files: { n: 'first' } })
        const first = await repository.commit({ n: 'forced away' })
        const gate = world.makeGate(`forced-${hasMirror}`)
        const shop = await makeDeployable({
          repository: repository.address,
          servers: 2,
          steps: deployWith({ 'activate-new-release': { name: 'wait', command: gate.command } }),
          pipeline: { rollout: JSON.stringify({ batch: 1, max_failed: 0 }) },
        })
        const id = await run(shop.pipelineId)
        await gate.reached()
        await repository.removeBranch('main')
        await repository.commit({ n: 'another history' })
        // As on another machine, whose mirror is made only now.
        if (!hasMirror)
          await rm(join(world.home, 'repositories/mirrors', String(shop.applicationId)), { recursive: true })
        await gate.open()
        const action = await completed(id)
        assert.equal(action.action_data.commit.hash, first)
        for (const base of shop.bases) assert.equal(await liveFile(base, 'n'), 'forced away')
        assert.match(await logOf(id, 'get-new-release', 1), hasMirror ? /^commit / : /^Fetching /m)
      })

    test('a server without a host key pins the one of the first connection', async (t) => {
      const repository = await makeRepository(t, { files: { a: 'a' } })
      const server = { ...(await world.newSshServer(sshd, 0)), host_key: null }
      const shop = await makeDeployable({ repository: repository.address, servers: [server] })
      await completed(await run(shop.pipelineId))
      const stored = await world.db
        .selectFrom('servers')
        .select('host_key')
        .where('id', '=', shop.serverIds[0]!)
        .executeTakeFirstOrThrow()
      assert.equal(stored.host_key, sshd.hostKey)
    })

    test('the connection counts as a use of the key', async (t) => {
      const repository = await makeRepository(t, { files: { a: 'a' } })
      const server = await world.newSshServer(sshd, 0)
      const shop = await makeDeployable({ repository: repository.address, servers: [server] })
      const { id } = await completed(await run(shop.pipelineId))
      const credential = await ask('GET', `/credentials/${server.credential_id}`)
      assert.equal(credential.body.last_action.id, id)
    })

    /** As if this run, and what was listed on the server meanwhile, were of last year. */
    async function makeOld({ applicationId }: Deployable, id: number): Promise<void> {
      await sql`update actions set created_at = created_at - interval '1 year', started_at = started_at - interval '1 year',
        completed_at = completed_at - interval '1 year' where id = ${id}`.execute(world.db)
      await sql`update releases_on_disk set recorded_at = now() - interval '1 year'
        where application_id = ${applicationId}`.execute(world.db)
    }

    async function removeOldRuns({ environmentId }: Deployable): Promise<void> {
      const forever = { runs_days: null, runs_per_pipeline: null, logs_days: null, requests_days: null }
      await world.db
        .updateTable('environments')
        .set({ retention: JSON.stringify({ ...forever, runs_days: 30 }) })
        .where('id', '=', environmentId)
        .execute()
      const signal = AbortSignal.timeout(60_000)
      await pruneOldData(world.db, { defaults: forever, keepBodiesDays: 3_650, signal })
    }

    test('of four releases the last two stay on the server, and with them their runs, however old', async (t) => {
      const repository = await makeRepository(t, { files: { n: '0' } })
      const shop = await makeDeployable({
        repository: repository.address,
        application: { deployments_keep: 2 },
      })
      const names: string[] = []
      const ids: number[] = []
      for (const n of ['1', '2', '3', '4']) {
        await repository.commit({ n })
        const { id, action_data } = await completed(await run(shop.pipelineId))
        names.push(action_data.release_name)
        ids.push(id)
        await makeOld(shop, id)
      }
      assert.deepEqual(names, [...names].sort(), 'names sort as releases came')
      assert.deepEqual(await releasesIn(shop.bases[0]!), names.slice(-2))
      assert.equal(await liveFile(shop.bases[0]!, 'n'), '4')
      const listed = await ask('GET', `/applications/${shop.applicationId}/releases`)
      const [{ releases }] = listed.body
      assert.deepEqual(
        releases.map((one: Record<string, unknown>) => [one.release_name, one.live, one.can_roll_back]),
        [
          [names[3], true, false],
          [names[2], false, true],
        ],
      )
      for (const { size_bytes } of releases) assert.ok(size_bytes >= 4_096 && size_bytes < 1_000_000)
      const { body: live } = await ask('GET', `/applications/${shop.applicationId}/live`)
      assert.deepEqual([live[0].action.id, live[0].release_name], [ids[3], names[3]])
      await removeOldRuns(shop)
      assert.equal((await ask('GET', `/actions/${ids[0]}`)).status, 404)
      for (const [name, n] of [
        [names[2], '3'],
        [names[3], '4'],
      ]) {
        const back = await completed(await run(shop.pipelineId, { type: 'rollback', release_name: name }))
        assert.match(await logOf(back.id, 'get-new-release'), /still on the server/)
        assert.equal(await liveFile(shop.bases[0]!, 'n'), n)
      }
      // A missing release is built again from the same commit, and never reuses a name.
      await rm(join(shop.bases[0]!, 'releases', names[2]!), { recursive: true })
      for (const type of ['rollback', 'redeploy', 'redeploy']) {
        await completed(await run(shop.pipelineId, { type }))
        assert.equal(await liveFile(shop.bases[0]!, 'n'), '3')
      }
    })

    test('under revert_all the next deploy removes old releases, whatever is in its way, and never what it needs', async (t) => {
      const repository = await makeRepository(t, { files: { n: '0' } })
      const rollout = JSON.stringify({ batch: 1, max_failed: 0, on_failure: 'revert_all' })
      const shop = await makeDeployable({
        repository: repository.address,
        servers: [world.newLocalServer()],
        application: { deployments_keep: 1 },
        pipeline: { on_failure: 'revert', rollout },
      })
      const [base] = shop.bases as [string]
      const names: string[] = []
      const last = (count: number) => names.slice(-count)
      async function deploy() {
        await repository.commit({ n: String(names.length) })
        const { id, action_data } = await completed(await run(shop.pipelineId))
        names.push(action_data.release_name)
        assert.match(await logOf(id, 'remove-old-releases'), /^Postponed until the rollout has ended/)
        return logOf(id, 'get-new-release')
      }
      for (let count = 1; count <= 3; count += 1) {
        assert.doesNotMatch(await deploy(), /Removed/)
        assert.deepEqual(await releasesIn(base), names)
      }
      // The live one and the one before it stay.
      assert.match(await deploy(), new RegExp(`^Removed: ${names[0]}$`, 'm'))
      assert.deepEqual(await releasesIn(base), last(3))
      const { body } = await ask('GET', `/applications/${shop.applicationId}/releases`)
      const listed = body[0].releases.map(({ release_name }: { release_name: string }) => release_name)
      assert.deepEqual(listed, last(3).reverse())

      // What cannot be removed does not prevent a deploy.
      const obstacle = join(base, 'releases', `.${names[1]}.gone`)
      await symlink('/nowhere', obstacle)
      assert.match(await deploy(), /Cannot remove .*\nOld releases stay for now: .*\n(.*\n)*New release: /)
      await unlink(obstacle)
      assert.deepEqual(await releasesIn(base), last(4))

      // A rollback removes neither the release that it returns to nor what it may be reverted to.
      const [oldest, , before, live] = last(4) as [string, string, string, string]
      const back = await completed(await run(shop.pipelineId, { type: 'rollback', release_name: oldest }))
      assert.match(await logOf(back.id, 'get-new-release'), /^Release .* is still on the server/m)
      assert.equal(await liveRelease(base), oldest)
      assert.deepEqual(await releasesIn(base), [oldest, before, live])
    })

    test('a rollback from a release that failed after its activation goes to the one before it', async (t) => {
      const repository = await makeRepository(t, { files: { n: '1' } })
      const shop = await makeDeployable({
        repository: repository.address,
        servers: [world.newLocalServer()],
        steps: deployWith({ 'activate-new-release': { name: 'smoke-test', command: '[ "$(cat n)" != 3 ]' } }),
      })
      await completed(await run(shop.pipelineId))
      for (const n of ['2', '3']) {
        await repository.commit({ n })
        const id = await run(shop.pipelineId)
        await (n === '3' ? endedWith('FAILED', id) : completed(id))
        assert.equal(await liveFile(shop.bases[0]!, 'n'), n)
      }
      await completed(await run(shop.pipelineId, { type: 'rollback' }))
      assert.equal(await liveFile(shop.bases[0]!, 'n'), '2')
    })

    test('branch, tag and commit of a call select the source', async (t) => {
      const repository = await makeRepository(t, { files: { from: 'main, first' } })
      const first = await repository.git(['rev-parse', 'main'])
      await repository.tag('v1', first, 'The first')
      await repository.commit({ from: 'main, second' })
      await repository.branch('feature/Büro', first)
      await repository.commit({ from: 'feature' }, { branch: 'feature/Büro' })
      const shop = await makeDeployable({ repository: repository.address })
      const hook = await makeHook(shop.pipelineId, 'branch', 'tag', 'commit', 'source_ref', 'source_type')
      const deployed = async (payload: object) => {
        const { deployment } = (await completed(await fire(hook, payload))).action_data
        return [deployment.source_type, deployment.source_ref, await liveFile(shop.bases[0]!, 'from')]
      }
      assert.deepEqual(await deployed({}), ['branch', 'main', 'main, second'])
      const feature = { branch: 'refs/heads/feature/Büro' }
      assert.deepEqual(await deployed(feature), ['branch', 'feature/Büro', 'feature'])
      assert.deepEqual(await deployed({ branch: 'refs/tags/v1' }), ['tag', 'v1', 'main, first'])
      assert.deepEqual(await deployed({ ...feature, tag: 'v1' }), ['tag', 'v1', 'main, first'])
      const short = first.slice(0, 10)
      assert.deepEqual(await deployed({ ...feature, commit: short }), ['commit', short, 'main, first'])
      assert.deepEqual(await deployed({ source_ref: 'v1', source_type: 'tag' }), ['tag', 'v1', 'main, first'])
    })

    test('custom steps get variables, run in the release, share files, and leak no secret', async (t) => {
      const repository = await makeRepository(t, {
        files: { 'app/index.html': 'hello', 'app/storage/seed': 'seed', 'README.md': 'not deployed' },
      })
      const look = [
        'printf "%s|" "$GANTRY_VAR_BRANCH" "$GANTRY_VAR_DEPLOY_NOTE" "$GREETING" "$GANTRY_SERVER"',
        'echo; pwd -P; ls; printf "the key is %s\\n" "$API_KEY"; printf %s "$API_KEY" | base64',
        'echo "$(printf %s "$API_KEY" | wc -c) characters"; echo "$GANTRY_COMMIT $GANTRY_RELEASE"',
      ].join('; ')
      const shop = await makeDeployable({
        repository: repository.address,
        servers: [await world.newSshServer(sshd, 0)],
        steps: deployWith({ 'build-application': { name: 'look', command: look } }),
        application: {
          root_directory: 'app',
          install_dependencies_command: 'mkdir vendor\necho installed > vendor/it',
          build_command: 'false\necho never > built',
          shared_paths: ['storage/', '.env'],
          variables: [
            { name: 'GREETING', value: 'it\'s "fine" $(id) `id`\n\u{1f642}' },
            { name: 'API_KEY', value: 'swordfish-1234', hidden: true },
          ],
        },
      })
      const [base] = shop.bases as [string]
      const hook = await makeHook(shop.pipelineId, 'branch', 'deploy-note')
      const payload = { branch: 'main', 'deploy-note': '$(touch x); "quoted" \\' }
      const broken = await endedWith('FAILED', await fire(hook, payload))
      assert.equal(broken.targets[0].current_step.name, 'build-application')
      assert.match(await logOf(broken.id, 'build-application'), /exited with code 1/)
      assert.equal(await liveRelease(base), null, 'what was not built does not go live')

      await world.db
        .updateTable('applications')
        .set({ build_command: 'cat vendor/it > built' })
        .where('id', '=', shop.applicationId)
        .execute()
      const action = await completed(await fire(hook, payload))
      const release = action.action_data.release_name
      const log = await logOf(action.id, 'look')
      assert.ok(
        log.startsWith(
          `main|${payload['deploy-note']}|it's "fine" $(id) \`id\`\n\u{1f642}|web-1|\n${base}/releases/${release}\n`,
        ),
        log,
      )
      assert.match(log, /\nbuilt\nindex\.html\nstorage\nvendor\nthe key is \*+\n/)
      assert.match(log, /\n14 characters\n/)
      assert.doesNotMatch(log, /swordfish|c3dvcmRmaXNo/)
      assert.ok(log.includes(`${action.action_data.commit.hash} ${release}`))
      assert.equal(await liveFile(base, 'built'), 'installed\n')
      await assert.rejects(stat(join(base, 'current/x')), { code: 'ENOENT' })

      assert.equal(await readFile(join(base, 'shared/storage/seed'), 'utf8'), 'seed')
      await writeFile(join(base, 'shared/storage/seed'), 'changed')
      assert.equal(await readlink(join(base, 'current/.env')), '../../shared/.env')
      await completed(await fire(hook, payload))
      assert.equal(await liveFile(base, 'storage/seed'), 'changed')
    })
  })
})

test('no process is left running', () => world.nothingRuns())
