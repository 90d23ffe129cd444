let chat = null, state = "";

export default function ({ data, parentElement }) {
    const spoken = parentElement.querySelector("[role=status]");
    const answer = () => {
        const answers = document.querySelectorAll('[class*="st-key-answer-"], [class*="st-key-with-table-"]');
        return answers.length ? answers[answers.length - 1].innerText : "";
    };
    const begins = chat !== data.chat && !data.begun;  // what stands there is read when one comes to it
    const before = begins ? data.state : state;
    chat = data.chat;
    state = data.state;
    if (before === state) return;
    spoken.textContent = state;
    if (!state) setTimeout(() => { spoken.textContent = answer() || data.ended; }, 300);  // when it is drawn
}
