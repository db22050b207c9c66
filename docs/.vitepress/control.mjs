// Builds the site with a dead link in a page, and fails if the build does not notice.
import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'

const docs = join(import.meta.dirname, '..')
const copy = join(docs, '..', 'bin', 'site-control', 'docs')
rmSync(copy, { recursive: true, force: true })
cpSync(docs, copy, { recursive: true, filter: path => basename(path) !== 'node_modules' })
symlinkSync(join(docs, 'node_modules'), join(copy, 'node_modules'))
appendFileSync(join(copy, 'install.md'), '\n[dead](no-such-page.md)\n')
const build = spawnSync('npm', ['run', 'build'], { cwd: copy, encoding: 'utf8' })
const output = build.stdout + build.stderr
if (build.status === 0 || !/dead link.*no-such-page/i.test(output)) {
  console.error(`a build with a dead link did not fail because of it:\n${output}`)
  process.exit(1)
}
console.log('site-control: a dead link fails the build')
