// The site is docs/*.md as they are. Each page has to be readable on GitHub as well: what differs there is made good here.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderMermaidSVG } from 'beautiful-mermaid'
import { defineConfig } from 'vitepress'
import groups from './groups.json'
import otherWords from './search.json'

const docs = dirname(dirname(fileURLToPath(import.meta.url)))
const repository = 'https://github.com/stepgate/stepgate'

const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.md') && !path.startsWith('node_modules') && path !== 'index.md')
  .map(path => path.slice(0, -'.md'.length))
  .sort()

/** A page by its heading, up to a colon. */
function item(page: string) {
  const heading = /^# (.*)$/m.exec(readFileSync(join(docs, page + '.md'), 'utf8'))
  return { text: (heading?.[1] ?? page).split(':')[0].replaceAll('`', ''), link: '/' + page }
}

/** The pages of each group that exist, and those of no group, which test/docs refuses, in one of their own. */
const grouped = Object.values(groups).flat()
const groupsOfPages = [...Object.entries(groups), ['More', pages.filter(page => !grouped.includes(page))] as const]
  .map(([text, names]) => ({ text, items: names.filter(name => pages.includes(name)).map(item) }))
  .filter(group => group.items.length > 0)

/** The anchor of a heading as GitHub makes it: links in the pages are written for GitHub. */
function anchor(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
}

/** The address of a link: what is in the repository and not on the site is at GitHub. */
function address(link: string, page: string): string {
  if (/^([a-z]+:|#|\/)/.test(link)) return link
  const [path, hash] = link.split('#', 2)
  const target = posix.join('docs', posix.dirname(page), path)
  if (target.startsWith('docs/') && target.endsWith('.md')) return link
  const kind = existsSync(join(docs, '..', target)) && !posix.extname(target) ? 'tree' : 'blob'
  return `${repository}/${kind}/main/${target}${hash ? '#' + hash : ''}`
}

/** A Mermaid diagram as the address of a picture, in the colors of the site. Its text has a font of the system: no picture loads another. */
function drawing(source: string): string {
  const colors = { bg: 'light-dark(#ffffff, #1b1b1f)', fg: 'light-dark(#3c3c43, #dfdfd6)' }
  const svg = renderMermaidSVG(source, { ...colors, line: 'light-dark(#67676c, #98989f)', padding: 4, nodeSpacing: 12 })
  // It loses a label that is not at the first mention of its node.
  const lost = [...source.matchAll(/\["(.*?)"\]/g)].find(([, label]) => !svg.includes(`>${label}</text>`))
  if (lost) throw new Error(`the picture of a diagram lacks the label ${lost[1]}`)
  return 'data:image/svg+xml;base64,' + Buffer.from(svg.replace(/@import .*/, ':root { color-scheme: light dark; }')).toString('base64')
}

/** Marks what is no command in a console block for the copy button to leave out: prompts, and lines that a program prints. */
const commandsAlone = {
  name: 'commands-alone',
  preprocess(code: string, options: { lang: string, decorations?: object[] }) {
    if (options.lang !== 'console') return
    const prompts = [...code.matchAll(/^ *\$ /gm)].map(({ index, 0: prompt }) => ({ start: index, end: index + prompt.length }))
    options.decorations = prompts.map(at => ({ ...at, properties: { class: 'vp-copy-ignore' } }))
  },
  pre(this: { options: { lang: string }, source: string }, { children: [code] }: { children: [{ children: object[] }] }) {
    if (this.options.lang !== 'console') return
    const lines = this.source.split('\n')
    const isCommand = lines.map(() => false)
    lines.forEach((line, i) => isCommand[i] = /^ *\$ /.test(line) || (i > 0 && isCommand[i - 1] && lines[i - 1].endsWith('\\')))
    // Between two lines is a text node with the end of the first.
    code.children = code.children.map((child, i) => isCommand[Math.ceil(i / 2)] ? child
      : { type: 'element', tagName: 'span', properties: { class: 'vp-copy-ignore' }, children: [child] })
  },
}

/** A page for the index of the search, with the words of search.json under its headings. */
function searched(source: string, env: { relativePath: string }, md: { render(source: string, env: object): string }): string {
  const page = env.relativePath.slice(0, -'.md'.length)
  return Object.entries(otherWords).filter(([place]) => place.startsWith(page + '#')).reduce((html, [place, words]) => {
    const heading = new RegExp(`<h\\d id="${place.slice(page.length + 1)}".*?</h\\d>`)
    if (!heading.test(html)) throw new Error(`search.json: there is no heading ${place}`)
    return html.replace(heading, found => `${found}<p>${words}</p>`)
  }, md.render(source, env))
}

/** Writes the licenses of the packages that the scripts of the site are made of. */
const licenses = {
  name: 'licenses',
  generateBundle(_: unknown, bundle: Record<string, { modules?: object }>) {
    const modules = Object.values(bundle).flatMap(chunk => Object.keys(chunk.modules ?? {}))
    const packages = new Set(modules.flatMap(id => /[^\0]*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []))
    const source = [...packages].sort().map(folder => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const file = readdirSync(folder).find(name => /^licen[cs]e/i.test(name))
      return `${name} ${version}: ${license}\n\n${file ? readFileSync(join(folder, file), 'utf8') : 'It has no file with the text.\n'}`
    })
    this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: source.join('\n\n---\n\n') })
  },
}

export default defineConfig({
  title: 'stepgate',
  description: "Keeps the order of Argo CD's progressive syncs",
  lang: 'en',
  outDir: '../bin/site',
  cacheDir: '../bin/site-cache',
  vite: { plugins: [licenses] },
  markdown: {
    anchor: { slugify: anchor },
    codeTransformers: [commandsAlone],
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // The highlighter does not know PromQL; SQL has its words.
    languageAlias: { promql: 'sql' },
    config(md) {
      md.core.ruler.push('repository-links', state => {
        const page = relative(docs, state.env.path).replaceAll('\\', '/')
        for (const token of state.tokens.flatMap(block => block.children ?? [])) {
          const href = token.type === 'link_open' && token.attrGet('href')
          if (href) token.attrSet('href', address(href, page))
        }
      })
      // A picture, not an element of the page: it has styles of its own, and search does not read it.
      const fence = md.renderer.rules.fence!
      md.renderer.rules.fence = (tokens, i, options, env, self) => {
        if (tokens[i].info !== 'mermaid') return fence(tokens, i, options, env, self)
        const heading = tokens.slice(0, i).findLastIndex(token => token.type === 'heading_open')
        return `<p class="diagram" tabindex="0"><img src="${drawing(tokens[i].content)}" alt="A diagram: ${md.utils.escapeHtml(tokens[heading + 1].content)}"></p>`
      }
      md.core.ruler.push('cell-headings', state => {
        let headings: string[] = []
        let column = 0
        state.tokens.forEach((token, i) => {
          if (token.type === 'thead_open') headings = []
          if (token.type === 'tr_open') column = 0
          if (token.type === 'th_open') headings.push(state.tokens[i + 1].content.replaceAll('`', ''))
          if (token.type === 'td_open' && headings[column++]) token.attrSet('data-heading', headings[column - 1])
        })
      })
    },
  },
  themeConfig: {
    sidebar: groupsOfPages,
    nav: groupsOfPages.map(({ text, items }) => ({ text, link: items[0].link })),
    outline: [2, 3],
    search: { provider: 'local', options: { _render: searched } },
    footer: { message: '<a href="/licenses.txt">Licenses of the software in this site</a>' },
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
